/** A machine in small for the table of attacks: a home with secrets, a project, another project, services of the host. */
import { execFileSync, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import { dirname, join } from "node:path";
import { gitPlaces } from "../src/git-places.ts";
import { hiddenPlaces } from "../src/hidden-places.ts";
import type { SandboxPolicy } from "../src/policy.ts";

export type World = Awaited<ReturnType<typeof createWorld>>;

export const secret = "SECRET-OF-THE-HOST";

export async function createWorld(base: string) {
  const put = (path: string, text: string) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  const [home, project, other, tmp, worktree] = ["home", "project", "other", "tmp", "worktree"].map((name) =>
    join(base, name),
  ) as [string, string, string, string, string];
  for (const folder of [home, project, other, tmp]) mkdirSync(folder, { recursive: true });
  const secrets = [
    ".ssh/id_ed25519",
    ".aegis/key",
    ".aws/credentials",
    ".config/gh/hosts.yml",
    ".bash_history",
    ".npmrc",
  ];
  for (const file of secrets) put(join(home, file), `${secret}\n`);
  put(join(home, ".bashrc"), "# mine\n");
  put(join(home, ".gitconfig"), "[user]\nname=a\nemail=a@b.example\n");
  put(join(other, ".env"), `${secret}\n`);
  put(join(project, "src/a.txt"), "a\n");
  put(join(project, ".aegis.yaml"), "agents: {}\n");
  put(join(project, ".gitignore"), ".aegis/state/\nkeys\n");
  put(join(project, ".aegis/agents/x.md"), "x\n");
  put(join(project, ".vscode/tasks.json"), "{}\n");
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", project, ...args], { env: { PATH: process.env.PATH, HOME: home } });
  git("init", "-q");
  git("add", "-A");
  git("commit", "-qm", "x");
  put(join(project, ".git/hooks/keep"), "");
  git("worktree", "add", "-q", worktree);
  put(join(project, ".aegis/state/daemon.json"), `${secret}\n`);
  put(join(project, ".aegis/state/conversations/mine/note"), "mine\n");
  put(join(project, ".aegis/state/conversations/theirs/note"), `${secret}\n`);
  symlinkSync(join(home, ".ssh"), join(project, "keys"));

  const web = createHttpServer((_, response) => response.end(secret));
  const plane = createHttpServer((request, response) => response.end(`${request.url} ${secret}`));
  const service = createHttpServer((_, response) => response.end("SERVICE"));
  const unix = [
    join(home, ".docker/docker.sock"),
    `/tmp/aegis-attack-${process.pid}.sock`,
    `\0aegis-attack-${process.pid}`,
  ];
  mkdirSync(join(home, ".docker"));
  const sockets = unix.map((path) => ({ path, server: createServer((socket) => socket.end(secret)) }));
  for (const server of [web, plane, service]) await once(server.listen(0, "127.0.0.1"), "listening");
  for (const { path, server } of sockets) await once(server.listen(path), "listening");
  const udp = createSocket("udp4");
  let datagrams = 0;
  udp.on("message", () => {
    datagrams += 1;
  });
  await once(udp.bind(0, "127.0.0.1"), "listening");
  const victim = spawn("sleep", ["600"], { env: { VICTIM: secret, PATH: process.env.PATH }, stdio: "ignore" });
  const portOf = (server: Server) => (server.address() as AddressInfo).port;
  return {
    ...{ home, project, other, tmp, worktree, sockets: unix, victim: victim.pid ?? 0 },
    ports: { web: portOf(web), plane: portOf(plane), service: portOf(service), udp: udp.address().port },
    datagrams: () => datagrams,
    close() {
      victim.kill("SIGKILL");
      udp.close();
      for (const server of [web, plane, service, ...sockets.map((one) => one.server)]) server.close();
    },
  };
}

export async function policyOf(world: World, level: SandboxPolicy["level"]): Promise<SandboxPolicy> {
  const { home, project, other, worktree, tmp, ports } = world;
  const places = await Promise.all([gitPlaces(project), gitPlaces(worktree)]);
  const own = join(project, ".aegis/state/conversations/mine");
  const hidden = [...(await hiddenPlaces({ home, env: {} })), join(project, ".aegis/state"), other];
  return {
    level,
    write: [project, worktree, own, ...places.flatMap(({ write }) => write)],
    protect: [
      ...[".aegis", ".aegis.yaml", ".vscode", ".mcp.json"].map((name) => join(project, name)),
      ...places.flatMap(({ protect }) => protect),
    ],
    hide: level === "strict" ? [...hidden, home] : hidden,
    show: level === "strict" ? [join(home, ".gitconfig")] : [],
    instead: [],
    tmp,
    hosts: [{ host: "allowed.example", below: false, port: null }],
    ports: [ports.service],
  };
}
