#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fit a model of scikit-learn, XGBoost or LightGBM to drawn data and write it as ONNX, with inputs.

usage: learn.py OUT_DIR NETWORK     (without arguments: list them)

As export.py, of which it is the other half. Class labels are integers, and scores are arrays (no ZipMap). Everything
is seeded.
"""

import sys
from pathlib import Path
from typing import Any, Callable

import lightgbm
import numpy as np
import onnxmltools
import skl2onnx
import xgboost
from onnxmltools.convert.common.data_types import FloatTensorType as Boosted
from skl2onnx.common.data_types import FloatTensorType
from sklearn import ensemble, linear_model, neural_network, pipeline, preprocessing, svm

OPSET = {"": 17, "ai.onnx.ml": 3}
FEATURES = 16
ROWS = 32  # of an inference


def drawn(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Four classes around as many centres"""
    rng = np.random.default_rng(rows)
    centres = np.random.default_rng(7).normal(size=(4, FEATURES))
    y = rng.integers(0, 4, rows)
    return (centres[y] + rng.normal(size=(rows, FEATURES))).astype(np.float32), y


def scaled(model: Any) -> Any:
    return pipeline.make_pipeline(preprocessing.StandardScaler(), model)


MODELS: dict[str, Callable[[], Any]] = {
    "onnx_sk_forest": lambda: ensemble.RandomForestClassifier(100, max_depth=10, random_state=0),
    "onnx_sk_boosting": lambda: ensemble.GradientBoostingClassifier(n_estimators=60, random_state=0),
    "onnx_sk_regression": lambda: ensemble.GradientBoostingRegressor(n_estimators=100, random_state=0),
    "onnx_sk_mlp": lambda: neural_network.MLPClassifier((64, 32), max_iter=60, random_state=0),
    "onnx_sk_logistic": lambda: scaled(linear_model.LogisticRegression()),
    "onnx_sk_svc": lambda: scaled(svm.SVC(random_state=0)),
    "onnx_sk_xgboost": lambda: xgboost.XGBClassifier(n_estimators=60, max_depth=6, random_state=0, n_jobs=1),
    "onnx_sk_lightgbm": lambda: lightgbm.LGBMClassifier(n_estimators=60, random_state=0, n_jobs=1, verbose=-1),
}


def converted(model: Any) -> Any:
    boosted = [("input0", Boosted([ROWS, FEATURES]))]
    if isinstance(model, xgboost.XGBModel):
        return onnxmltools.convert_xgboost(model, initial_types=boosted)
    if isinstance(model, lightgbm.LGBMModel):
        return onnxmltools.convert_lightgbm(model, initial_types=boosted, zipmap=False)
    options = {id(model): {"zipmap": False}} if hasattr(model, "classes_") else None
    return skl2onnx.to_onnx(model, initial_types=[("input0", FloatTensorType([ROWS, FEATURES]))], options=options,
                            target_opset=OPSET)


def main() -> None:
    if len(sys.argv) != 3:
        print("\n".join(MODELS))
        return
    to = Path(sys.argv[1]) / sys.argv[2]
    to.mkdir(parents=True, exist_ok=True)
    x, y = drawn(2000)
    model = MODELS[sys.argv[2]]()
    model.fit(x, y)
    (to / "model.onnx").write_bytes(converted(model).SerializeToString())
    np.save(to / "in0.npy", drawn(ROWS)[0])


if __name__ == "__main__":
    main()
