//! The CPU backend against the canonical tree written out as plainly as can be, and against what folds mean.
