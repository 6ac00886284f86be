"""What the person who looks at this page may do here, and under which name."""

from pages.shared.address.navigation import page

with page():
    from pages.account.view import account

    account()
