"""`python -m paretoken …` runs the program paretoken that was installed with this package."""

import os
import pathlib
import sys
import sysconfig


def program() -> pathlib.Path:
    """Returns the path of the program: in the directory of scripts of this environment, of the user, or, after `pip install
    --target`, beside this package."""
    places = [pathlib.Path(sysconfig.get_path("scripts")),
              pathlib.Path(sysconfig.get_path("scripts", scheme=f"{os.name}_user")),
              pathlib.Path(__file__).resolve().parents[1] / "bin"]
    for place in places:
        if (place / "paretoken").is_file():
            return place / "paretoken"
    looked = ", ".join(map(str, places))
    sys.exit(f"paretoken: the program is in none of these directories: {looked}; install the package paretoken again")


def main() -> None:
    path = program()
    os.execv(path, [str(path), *sys.argv[1:]])


if __name__ == "__main__":
    main()
