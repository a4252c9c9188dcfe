#!/usr/bin/env bash
# Builds plov's Debian packages; see --help.
set -euo pipefail

usage() {
  cat << 'END'
usage: packaging/build.sh [--twice] [--version VERSION] [FOLDER]

Builds Debian packages of the commit that is checked out, with Debian's own tools, and lets lintian judge
them. They lie in FOLDER, packaging/out when it is not given, with the .buildinfo and .changes of Debian.
Installs what is missing (tests/install.sh package). The build is in build-package/, which is removed;
when it fails it stays, and build.log is there. It uses ccache where that is installed.

  --twice            builds again in another folder, without ccache, and fails unless all bytes are the same
  --version VERSION  gives the packages this version, as 0.1.0-0plov1+local1, with an entry of its own in the
                     changelog, instead of that of debian/changelog
  --help             this text

Exit status: 0 done, 1 the build failed, lintian found something, or the bytes differ, 2 usage.
END
}

refuse() {
  echo "build.sh: $*; see --help" >&2
  exit 2
}

fail() {
  echo "build.sh: $*" >&2
  exit 1
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=""
version=""
twice=false
while (($# > 0)); do
  case "$1" in
    --help)
      usage
      exit 0
      ;;
    --twice) twice=true ;;
    --version)
      [[ ${2-} =~ ^[0-9][A-Za-z0-9.+~]*-[A-Za-z0-9.+~]+$ ]] || refuse "--version takes a version as 0.1.0-0plov1+local1"
      version=$2
      shift
      ;;
    -*) refuse "no option $1" ;;
    *)
      [[ -z $out && -n $1 ]] || refuse "one FOLDER"
      out=$1
      ;;
  esac
  shift
done
out=$(realpath -m "${out:-$root/packaging/out}")
readonly root out version twice work=$root/build-package

git -C "$root" rev-parse --verify --quiet HEAD > /dev/null || fail "$root is no git checkout with a commit"
if [[ -n $(git -C "$root" status --porcelain) ]]; then
  echo "build.sh: what is not committed is left out" >&2
fi
bash "$root/tests/install.sh" package

# The commit's time is that of all files in the packages.
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct)
export SOURCE_DATE_EPOCH

# changelog: as it is, or with an entry for --version before it.
changelog() {
  if [[ -n $version ]]; then
    printf 'plov (%s) unstable; urgency=medium\n\n  * Built from %s.\n\n -- %s  %s\n\n' "$version" \
      "$(git -C "$root" rev-parse --short=12 HEAD)" "$(sed -n 's/^Maintainer: //p' "$root/debian/control")" \
      "$(date -R -u -d "@$SOURCE_DATE_EPOCH")"
  fi
  git -C "$root" show HEAD:debian/changelog
}

# build FOLDER: the packages of the commit lie in FOLDER then.
build() {
  rm -rf "$1"
  mkdir -p "$1/plov"
  git -C "$root" archive HEAD | tar -x -C "$1/plov"
  changelog > "$1/plov/debian/changelog"
  # debhelper gives the build a home of its own, where ccache would begin anew. Without the base directory that
  # a user may have set: ccache would make paths relative to it, and they are seen in the bytes.
  if command -v ccache > /dev/null; then
    CCACHE_DIR=$(ccache -k cache_dir)
    export CCACHE_DIR CCACHE_BASEDIR=""
  fi
  env -C "$1/plov" dpkg-buildpackage --no-sign --build=binary > "$1/build.log" 2>&1 < /dev/null || {
    tail -n 40 "$1/build.log" >&2
    fail "dpkg-buildpackage failed; $1/build.log has all of it"
  }
}

sums() { (cd "$1" && sha256sum -- *.deb); }

main() {
  local built=$work/build
  build "$built"
  if $twice; then
    CCACHE_DISABLE=1 build "$work/build-in-another-folder"
    diff <(sums "$built") <(sums "$work/build-in-another-folder") ||
      fail "built twice, the bytes differ; compare the packages in $work/*"
    echo "build.sh: built twice, all bytes are the same"
  fi
  # Warnings count: what cannot be mended is overridden, with the reason.
  lintian --fail-on error,warning --display-level '>=warning' "$built"/*.changes ||
    fail "lintian found something; the packages are in $built"
  mkdir -p "$out"
  rm -f "$out"/*plov*_*.{deb,buildinfo,changes}
  mv "$built"/*.deb "$built"/*.buildinfo "$built"/*.changes "$out"
  rm -rf "$work"
  sums "$out"
}

main
