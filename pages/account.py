"""What the person who looks at this page may do here, and under which name."""

from pages.components.shared.navigation import page

with page():
    from pages.components.account.view import account

    account()
