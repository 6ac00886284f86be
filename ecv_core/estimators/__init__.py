"""scikit-learn's estimators, cross-validated until the score is trusted; loads scikit-learn."""
