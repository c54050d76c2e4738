# shellcheck shell=sh disable=SC2034,SC2154
# look_unit.sh UNIT: what systemd says of it now.
section unit
systemctl show --no-pager --property=Id,LoadState,LoadError,ActiveState,SubState,Result,Type,UnitFileState,FragmentPath,SourcePath,DropInPaths,EnvironmentFiles,NeedDaemonReload,MainPID,InvocationID,NRestarts,ExecStart,ExecMainCode,ExecMainStatus,ExecMainStartTimestampMonotonic,Restart,RestartUSec,TimeoutStartUSec,User,WorkingDirectory,ControlGroup,Job,RequiredBy,BoundBy,ConsistsOf,StandardOutput -- "$1"
