# shellcheck shell=bash
# Sourced by what takes a DURATION: 90s, 10m, 8h.

# seconds_of DURATION: how many seconds; fails when it is none.
seconds_of() {
  local unit
  [[ ${1-} =~ ^[1-9][0-9]*[smh]$ ]] || return 1
  case "$1" in
    *s) unit=1 ;;
    *m) unit=60 ;;
    *h) unit=3600 ;;
  esac
  echo $((${1%?} * unit))
}
