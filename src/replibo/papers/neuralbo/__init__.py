"""NeuralBO (Phan-Trong, Tran-The and Gupta 2023): its figures, tables and claims from traces."""
