"""The paper's figures beside ours: tables, charts, and the stages that measure ours."""
