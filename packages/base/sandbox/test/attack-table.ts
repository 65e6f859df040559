/**
 * Attacks that must fail and necessities that must work, as shell scripts that run inside. An attack succeeds if its
 * script exits with 0. All run in one sandbox, one after another.
 */
import { secret, type World } from "./world.ts";

export type Attack = {
  title: string;
  script: string;
  /** It may fail without a sandbox too. All others succeed there, which shows that they are attacks. */
  failsAnyway?: true;
};

const python = (code: string) => `python3 -c '${code}'`;
/** A system call by its number; succeeds if the kernel accepts it. */
const syscall = (number: number, args: string) =>
  python(`import ctypes,sys; sys.exit(0 if ctypes.CDLL(None,use_errno=True).syscall(${number},${args})>=0 else 1)`);

export function attacks(world: World): Attack[] {
  const { home, project, other, worktree, victim, ports, sockets } = world;
  const reads = (path: string) => `grep -q ${secret} ${path}`;
  const fetches = (options: string, url: string) => `curl -s --noproxy '*' -m 3 ${options} ${url} | grep -q ${secret}`;
  const proxied = (options: string, url: string) =>
    `curl -s --noproxy '' -m 3 ${options} -x "$http_proxy" ${url} | grep -q ${secret}`;
  const unix = (path: string) =>
    python(
      `import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(${path}); sys.exit(0 if b"${secret}" in s.recv(99) else 1)`,
    );
  const [docker = "", inTmp = "", abstract = ""] = sockets;
  return [
    { title: "read ~/.ssh", script: reads(`${home}/.ssh/id_ed25519`) },
    { title: "read ~/.ssh by a link in the project", script: reads(`${project}/keys/id_ed25519`) },
    { title: "read ~/.ssh by /proc/1/root", script: reads(`/proc/1/root${home}/.ssh/id_ed25519`), failsAnyway: true },
    { title: "read ~/.aegis", script: reads(`${home}/.aegis/key`) },
    { title: "read ~/.aws", script: reads(`${home}/.aws/credentials`) },
    { title: "read the login of gh", script: reads(`${home}/.config/gh/hosts.yml`) },
    { title: "read the history of the shell", script: reads(`${home}/.bash_history`) },
    { title: "read the daemon's token", script: reads(`${project}/.aegis/state/daemon.json`) },
    { title: "read the folder of another session", script: reads(`${project}/.aegis/state/conversations/theirs/note`) },
    { title: "read another project", script: reads(`${other}/.env`) },
    { title: "write ~/.bashrc", script: `echo x >> ${home}/.bashrc` },
    { title: "write into a hidden folder", script: `mkdir -p ${home}/.ssh && echo x > ${home}/.ssh/authorized_keys` },
    { title: "write into a new folder of the home", script: `mkdir ${home}/.config/autostart` },
    { title: "write /etc", script: python('open("/etc/hosts","r+")'), failsAnyway: true },
    { title: "write another project", script: `echo x > ${other}/x1` },
    {
      title: "write by a link out of the project",
      script: `ln -sfn ${other} ${project}/l1 && echo x > ${project}/l1/x2`,
    },
    { title: "write by a hard link", script: `ln -f ${home}/.bashrc ${project}/hl && echo x >> ${project}/hl` },
    { title: "change .git/hooks", script: `echo x > ${project}/.git/hooks/pre-commit` },
    { title: "change .git/config", script: `git -C ${project} config core.fsmonitor /bin/false` },
    { title: "change .git/info", script: `echo x >> ${project}/.git/info/exclude` },
    {
      title: "replace .git by a copy",
      script: `cd ${project} && mv .git .g2 && cp -r .g2 .git && echo x > .git/hooks/x`,
    },
    {
      title: "change the hooks of the repository from a worktree",
      script: `echo x > ${project}/.git/hooks/post-commit`,
    },
    { title: "point the worktree elsewhere", script: `echo gitdir: /tmp/x > ${worktree}/.git` },
    {
      title: "point the worktree's git folder elsewhere",
      script: `echo /tmp/x > ${project}/.git/worktrees/worktree/commondir`,
    },
    { title: "change .aegis.yaml", script: `echo x >> ${project}/.aegis.yaml` },
    {
      title: "replace .aegis.yaml by rename",
      script: `cp ${project}/.aegis.yaml ${project}/y && mv -f ${project}/y ${project}/.aegis.yaml`,
    },
    { title: "change an agent file", script: `echo x >> ${project}/.aegis/agents/x.md` },
    { title: "rename .aegis", script: `mv ${project}/.aegis ${project}/.a2` },
    { title: "change tasks of the editor", script: `echo x > ${project}/.vscode/tasks.json` },
    { title: "mount /", script: "mount -o remount,bind,rw /", failsAnyway: true },
    { title: "unmount a hidden folder", script: `umount ${home}/.ssh`, failsAnyway: true },
    { title: "make a user namespace", script: "unshare -Ur true", failsAnyway: true },
    { title: "make a mount namespace", script: "unshare -m true", failsAnyway: true },
    { title: "start bwrap", script: "bwrap --bind / / true", failsAnyway: true },
    { title: "clone3 with namespaces", script: syscall(435, "(ctypes.c_uint64*11)(0x10000000),88"), failsAnyway: true },
    { title: "see a process of the host", script: `tr '\\0' '\\n' < /proc/${victim}/environ | grep -q ${secret}` },
    { title: "signal a process of the host", script: `grep -qa sleep /proc/${victim}/cmdline && kill -0 ${victim}` },
    {
      title: "trace the first process",
      script: `python3 -c 'import ctypes,sys; sys.exit(ctypes.CDLL(None).ptrace(16,${victim},0,0))'`,
      failsAnyway: true,
    },
    { title: "loopback of the host", script: fetches("", `http://127.0.0.1:${ports.web}/`) },
    {
      title: "loopback of the host over IPv6",
      script: fetches("", `http://[::ffff:127.0.0.1]:${ports.web}/`),
      failsAnyway: true,
    },
    ...["127.0.0.1", "localhost.", "2130706433", "127.1", "[::ffff:127.0.0.1]", "0x7f.1"].flatMap((host): Attack[] => [
      { title: `the proxy to ${host}`, script: proxied("", `http://${host}:${ports.web}/`), failsAnyway: true },
      { title: `CONNECT to ${host}`, script: proxied("-p", `http://${host}:${ports.web}/`), failsAnyway: true },
    ]),
    { title: "another path of the daemon", script: fetches("", `http://127.0.0.1:${ports.plane}/v1/asks`) },
    {
      title: "the endpoint of another session",
      script: fetches("-H 'authorization: Bearer theirs'", `http://127.0.0.1:${ports.plane}/mcp`),
    },
    {
      title: "a path beside the endpoint",
      script: fetches("--path-as-is -H 'authorization: Bearer mine'", `http://127.0.0.1:${ports.plane}/mcp/../v1/asks`),
    },
    {
      title: "UDP to the host",
      script: `${python(`import socket; s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.sendto(b"x",("127.0.0.1",${ports.udp}))`)}; false`,
      failsAnyway: true,
    },
    {
      title: "raw socket",
      script: python("import socket; socket.socket(socket.AF_INET,socket.SOCK_RAW,1)"),
      failsAnyway: true,
    },
    { title: "a host that is not allowed", script: `curl -sf -m 5 http://not-allowed.example/`, failsAnyway: true },
    {
      title: "another port of an allowed host",
      script: `curl -sf -m 5 http://allowed.example:8080/`,
      failsAnyway: true,
    },
    { title: "unix socket in the home", script: unix(JSON.stringify(docker)) },
    { title: "unix socket in /tmp", script: unix(JSON.stringify(inTmp)) },
    { title: "abstract unix socket", script: unix(`b"\\0${abstract.slice(1)}"`) },
    { title: "sockets below /run", script: "find /run -type s 2>/dev/null | grep -q .", failsAnyway: true },
    {
      title: "type into the terminal",
      script: python(
        'import fcntl,pty,termios,os; m,s=pty.openpty(); os.setsid(); fcntl.ioctl(s,termios.TIOCSCTTY,0); fcntl.ioctl(s,termios.TIOCSTI,b"x")',
      ),
      failsAnyway: true,
    },
    { title: "io_uring", script: syscall(425, "1,ctypes.create_string_buffer(120)"), failsAnyway: true },
    { title: "keyring", script: syscall(process.arch === "arm64" ? 219 : 250, "0,-3,1"), failsAnyway: true },
    { title: "userfaultfd", script: syscall(process.arch === "arm64" ? 282 : 323, "1"), failsAnyway: true },
    {
      title: "bpf",
      script: syscall(process.arch === "arm64" ? 280 : 321, "0,ctypes.create_string_buffer(72),72"),
      failsAnyway: true,
    },
    { title: "a call of the x32 interface", script: syscall(0x40000000 + 39, ""), failsAnyway: true },
    { title: "become root", script: "su -c true </dev/null || sudo -n true", failsAnyway: true },
    { title: "gain a capability", script: "grep -q '^CapEff:.*[1-9a-f]' /proc/self/status", failsAnyway: true },
    { title: "write /sys", script: python('open("/sys/kernel/mm/ksm/run","r+")'), failsAnyway: true },
    {
      title: "set the program for core dumps",
      script: python('open("/proc/sys/kernel/core_pattern","r+")'),
      failsAnyway: true,
    },
    { title: "sysrq", script: python('open("/proc/sysrq-trigger","w")'), failsAnyway: true },
    {
      title: "open a disk",
      script: "head -c 1 /dev/vda || head -c 1 /dev/sda || head -c 1 /dev/nvme0n1",
      failsAnyway: true,
    },
    { title: "make a device", script: "mknod /tmp/disk b 8 0", failsAnyway: true },
    {
      title: "inherit a descriptor",
      script: "ls /proc/$PPID/fd | grep -vE '^(0|1|2|255)$' | grep -q .",
      failsAnyway: true,
    },
    { title: "talk to the starter", script: 'test -n "$NODE_CHANNEL_FD"', failsAnyway: true },
  ];
}

export function necessities({ project, worktree, ports, home }: World, level: "workspace" | "strict"): Attack[] {
  const common: Attack[] = [
    { title: "write in the project", script: `echo x > ${project}/src/new` },
    { title: "write in the own folder", script: `echo x > ${project}/.aegis/state/conversations/mine/note` },
    {
      title: "read the own configuration",
      script: `grep -q agents ${project}/.aegis.yaml && test -s ${home}/.gitconfig`,
    },
    { title: "commit", script: `cd ${project} && git add -A src && git commit -qm y` },
    {
      title: "commit, branch and stash in a worktree",
      script: `cd ${worktree} && echo z > z && git add z && git commit -qm z && git branch b1 && echo y > z && git stash -q && git stash pop -q`,
    },
    { title: "no files of the sandbox in git status", script: `cd ${project} && test -z "$(git status --porcelain)"` },
    { title: "temporary files", script: "mktemp && echo x > /tmp/x" },
    { title: "/dev/shm", script: "echo x > /dev/shm/x" },
    { title: "pseudo-terminal", script: "script -qec true /dev/null" },
    { title: "ps", script: "ps -p $$ >/dev/null" },
    { title: "node", script: `${process.execPath} -e 1` },
    {
      title: "node's test runner",
      script: `cd /tmp && echo 'require("node:test")("x",()=>{})' > t.test.cjs && ${process.execPath} --test t.test.cjs`,
    },
    { title: "an allowed service", script: `curl -s -m 3 http://127.0.0.1:${ports.service}/ | grep -q SERVICE` },
    {
      title: "the session's endpoint",
      script: `curl -s -m 3 -H 'authorization: Bearer mine' http://127.0.0.1:${ports.plane}/mcp | grep -q ^/mcp`,
    },
    {
      title: "the reason of a refused host",
      script: "curl -s -m 3 http://not-allowed.example/ | grep -q 'not-allowed.example is not allowed'",
    },
    {
      title: "own loopback",
      script: `${process.execPath} -e 'const s=require("http").createServer((q,r)=>r.end("x")).listen(0,()=>fetch("http://127.0.0.1:"+s.address().port).then(()=>process.exit(0),()=>process.exit(1)))'`,
    },
  ];
  if (level === "strict") return common;
  const pool =
    'import multiprocessing as m\nif __name__=="__main__":\n  with m.Manager() as g: g.dict(a=1); m.Pool(2).map(abs,[1])';
  return [...common, { title: "Python's processes", script: `printf '%s' '${pool}' > /tmp/p.py && python3 /tmp/p.py` }];
}
