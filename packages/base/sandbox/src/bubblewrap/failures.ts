/** Names the cause and the fix when bubblewrap cannot confine a program, from what it prints. */

export type Unavailable = { works: false; cause: string; fix: string };

const container =
  "in a container, allow it to create user namespaces, or confine the container itself and set `sandbox: off`";

const known: readonly { text: RegExp; cause: string; fix: string }[] = [
  {
    text: /Unknown option --disable-userns/,
    cause: "bubblewrap is older than 0.8",
    fix: "update bubblewrap to 0.8 or later",
  },
  {
    text: /Creating new namespace failed.*|ENOSPC|No space left/i,
    cause: "the system allows no more namespaces, or this is a sandbox already",
    fix: "raise user.max_user_namespaces (sysctl), or set `sandbox: off` if you confine the daemon itself",
  },
  {
    text: /No permissions to create new namespace|Operation not permitted.*namespace|setting up uid map/i,
    cause: "the system does not let this account create a namespace",
    fix: `start the daemon as an ordinary user; on Ubuntu, give bubblewrap its AppArmor profile; ${container}`,
  },
  {
    text: /Can't mount proc/i,
    cause: "the system does not let a namespace have its own /proc, as in a container",
    fix: container,
  },
];

export function unavailable(output: string): Unavailable {
  const found = known.find(({ text }) => text.test(output));
  const said = output.trim().split("\n").at(-1)?.slice(0, 300) ?? "";
  if (found !== undefined) return { works: false, cause: `${found.cause} (${said})`, fix: found.fix };
  return {
    works: false,
    cause: `bubblewrap failed: ${said || "it said nothing"}`,
    fix: "run: bwrap --ro-bind / / true",
  };
}

export const notInstalled: Unavailable = {
  works: false,
  cause: "bubblewrap (bwrap) is not installed",
  fix: "install it: apt install bubblewrap, dnf install bubblewrap or pacman -S bubblewrap",
};

export const isSetuid: Unavailable = {
  works: false,
  cause: "bwrap is a setuid program here, which Aegis does not use",
  fix: "install the bubblewrap of your distribution, which needs no setuid bit",
};

export const isUnsupported: Unavailable = {
  works: false,
  cause: `Aegis confines programs on Linux only, on x64 and arm64 (this is ${process.platform} on ${process.arch})`,
  fix: "set `sandbox: off`, or run the project in a Linux machine",
};

/** Bubblewrap ran, and its program was not confined. */
export const isOpen: Unavailable = {
  works: false,
  cause: "the program that bwrap started was not confined",
  fix: "reinstall bubblewrap from your distribution",
};
