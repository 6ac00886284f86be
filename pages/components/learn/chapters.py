"""The chapters in their order: what each is called, and which module shows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """One idea."""

    id: str
    """In the address, `?chapter=`; also the name of its module."""
    short: str
    """For the table of contents."""
    question: str
    """The headline."""
    idea: str
    """The answer, in words that the last row understands."""

    @property
    def module(self) -> str:
        """Has a function `show`; loaded when it is opened, because figures take a while to load."""
        return f"pages.components.learn.{self.id}"


CHAPTERS: dict[str, Chapter] = {
    chapter.id: chapter
    for chapter in (
        Chapter(
            id="held_out",
            short="Held out",
            question="Why hide part of the data?",
            idea="A model that only memorises gets full marks, if you ask what it has already "
            "seen. Hide some interactions, and ask for those.",
        ),
        Chapter(
            id="folds",
            short="Folds",
            question="What is a fold?",
            idea="Deal every user's interactions into k piles, like cards. Each pile is a fold, "
            "and each is held out once while the model learns from the others.",
        ),
        Chapter(
            id="ndcg",
            short="nDCG",
            question="What makes a ranked list good?",
            idea="Finding what the user really took, and putting it on top. Move the items: the "
            "higher a hit, the more it counts.",
        ),
        Chapter(
            id="one_fold",
            short="One fold?",
            question="Why is one fold not enough?",
            idea="Every fold gives another score. Draw the folds in another order, and the first "
            "one tells another story; the mean of many is steadier.",
        ),
        Chapter(
            id="interval",
            short="Interval",
            question="How sure is the mean?",
            idea="The interval says where the mean may still go. It narrows with every fold: "
            "quickly at first, then hardly.",
        ),
        Chapter(
            id="rule",
            short="Rule",
            question="When is it enough?",
            idea="When the interval is narrow and has stopped changing. The rule multiplies the "
            "two, and stops as soon as the product is at most alpha.",
        ),
        Chapter(
            id="misleading",
            short="Traps",
            question="When does stopping mislead?",
            idea="Four ways in which a stop looks more certain than it is.",
        ),
        Chapter(
            id="savings",
            short="Savings",
            question="What does it save?",
            idea="Every fold after the stop is training that need not happen. Move alpha, and see "
            "what recorded runs would have spared.",
        ),
        Chapter(
            id="choosing",
            short="Choosing",
            question="Which one is best?",
            idea="Choosing needs less than knowing. All meet on the same folds and users, and "
            "whoever can no longer win is evaluated no further.",
        ),
        Chapter(
            id="baseline",
            short="Baselines",
            question="Better than what?",
            idea="A new method is compared with an old one, which somebody had to set up. The same "
            "old method can be the worst or nearly the best: a baseline is hard work.",
        ),
        Chapter(
            id="predict",
            short="Game",
            question="Predict the stop",
            idea="Folds of a real run arrive one by one. Vote: does the rule stop here, or does it "
            "go on?",
        ),
        Chapter(
            id="glossary",
            short="Glossary",
            question="What does that word mean?",
            idea="Every word that these pages use, in one or two sentences.",
        ),
    )
}
"""Every chapter, by id."""

FIRST = next(iter(CHAPTERS))
