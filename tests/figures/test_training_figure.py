"""The inner curves as rows, and what the figure and its sentence say of them."""

from ecv_core.figures.efold_plot import training_figure, training_frame, training_text

CURVES = [(0, (0.10, 0.30, 0.20)), (3, (0.25, 0.40, 0.40, 0.35))]


def test_one_row_per_fold_and_epoch_with_the_first_best_marked():
    frame = training_frame(CURVES)
    assert frame["epoch"].tolist() == [1, 2, 3, 1, 2, 3, 4]
    assert frame["best"].tolist() == [False, True, False, False, True, False, False]
    assert frame["newest"].tolist() == [False] * 3 + [True] * 4


def test_the_sentence_tells_the_newest_fold():
    assert training_text(training_frame(CURVES)) == (
        "Fold 3: best inner nDCG@100 0.4000 in epoch 2, 0.3500 in epoch 4."
    )
    assert training_text(training_frame([(7, (0.1, 0.2))])) == (
        "Fold 7: best inner nDCG@100 0.2000 in epoch 2, the newest."
    )
    assert training_text(training_frame([])) == ""


def test_the_star_is_at_the_best_epoch_of_the_newest_fold():
    figure = training_figure(training_frame(CURVES), epochs=50)
    (star,) = [trace for trace in figure.data if trace.mode == "markers+text"]
    assert (list(star.x), list(star.y)) == ([2], [0.40])
    assert figure.layout.xaxis.range[1] >= 4.5


def test_without_a_curve_the_figure_is_empty():
    assert not training_figure(training_frame([]), epochs=50).data
