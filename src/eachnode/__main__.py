"""`python -m eachnode`, for those whose PATH does not lead to the program."""

from eachnode.cli.main import main

if __name__ == "__main__":
    main()
