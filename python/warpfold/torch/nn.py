"""torch.nn's modules by warpfold.torch: the same constructors and state dicts."""

import torch

from . import rows

__all__ = ["CrossEntropyLoss", "GroupNorm", "LayerNorm", "LogSoftmax", "RMSNorm", "Softmax"]


class RMSNorm(torch.nn.RMSNorm):
    """torch.nn.RMSNorm by warpfold.torch.rms_norm. Without eps it is float32's epsilon."""

    def forward(self, x):
        return rows.rms_norm(x, self.normalized_shape, self.weight, torch.finfo(torch.float32).eps if self.eps is None else self.eps)


class LayerNorm(torch.nn.LayerNorm):
    """torch.nn.LayerNorm by warpfold.torch.layer_norm."""

    def forward(self, input):
        return rows.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class GroupNorm(torch.nn.GroupNorm):
    """torch.nn.GroupNorm by warpfold.torch.group_norm."""

    def forward(self, input):
        return rows.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


def _named(dim):
    if dim is None:
        raise ValueError("dim: None; name the dimension, such as -1")
    return dim


class Softmax(torch.nn.Softmax):
    """torch.nn.Softmax by warpfold.torch.softmax."""

    def __init__(self, dim=None):
        super().__init__(_named(dim))

    def forward(self, input):
        return rows.softmax(input, self.dim)


class LogSoftmax(torch.nn.LogSoftmax):
    """torch.nn.LogSoftmax by warpfold.torch.log_softmax."""

    def __init__(self, dim=None):
        super().__init__(_named(dim))

    def forward(self, input):
        return rows.log_softmax(input, self.dim)


class CrossEntropyLoss(torch.nn.CrossEntropyLoss):
    """torch.nn.CrossEntropyLoss by warpfold.torch.cross_entropy: of class indices, in float32."""

    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
        if weight is not None:
            raise ValueError("weight: classes have none here; torch.nn.CrossEntropyLoss takes it")
        super().__init__(None, size_average, ignore_index, reduce, reduction, label_smoothing)

    def forward(self, input, target):
        if target.is_floating_point():
            raise ValueError("target: probabilities of classes; pass indices, or use torch.nn.CrossEntropyLoss")
        options = {"ignore_index": self.ignore_index, "label_smoothing": self.label_smoothing, "reduction": self.reduction}
        return rows.cross_entropy(input, target, **options)
