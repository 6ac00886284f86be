"""What whoever looks may do here, and as whom."""

from pages.components.shared.navigation import page

with page():
    from pages.components.account.view import account

    account()
