module paddleflow.org/pause

go 1.24.0
