/** `aegis service`: the files for systemd and launchd, and the commands with a manager that starts what they say. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";
import { type ServiceOptions, serviceFile } from "../src/commands/daemon/service-file.ts";

const odd = '/home/me/my "$HOME" 100% & <team>';
const options: ServiceOptions = {
  kind: "systemd",
  root: odd,
  home: "/home/me",
  configHome: undefined,
  path: "/usr/bin:/opt/50%/bin",
  program: ["/opt/node 24/bin/node", "/opt/aegis/dist/cli.js"],
  log: `${odd}/.aegis/state/service.log`,
};

it("names a service by its project, and two projects of one name differently", () => {
  const { name, path } = serviceFile(options);
  expect(name).toMatch(/^aegis-my-home-100-team-[0-9a-f]{8}\.service$/);
  expect(path).toBe(`/home/me/.config/systemd/user/${name}`);
  expect(serviceFile({ ...options, root: "/srv/app" }).name).not.toBe(
    serviceFile({ ...options, root: "/home/app" }).name,
  );
  expect(serviceFile({ ...options, configHome: "/cfg" }).path).toMatch(/^\/cfg\/systemd\/user\//);
});

it("escapes what systemd would expand", () => {
  const { text } = serviceFile(options);
  const line = (key: string) => text.split("\n").find((one) => one.startsWith(`${key}=`));
  expect(line("ExecStart")).toBe(
    'ExecStart="/opt/node 24/bin/node" "/opt/aegis/dist/cli.js" "-C" "/home/me/my \\"$$HOME\\" 100%% & <team>" "serve"',
  );
  expect(line("Environment")).toBe('Environment="PATH=/usr/bin:/opt/50%%/bin"');
});

it.skipIf(spawnSync("systemd-analyze", ["--version"]).error !== undefined)(
  "is a unit that systemd accepts",
  async () => {
    const folder = await tempDir();
    const root = join(folder, "a 100% team");
    await mkdir(root);
    const { name, text } = serviceFile({ ...options, root, program: [process.execPath, "/opt/cli.js"] });
    await writeFile(join(folder, name), text);
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", "--user", join(folder, name)], {
      encoding: "utf8",
    });
    // Other units of the machine, and a missing bus, are not the subject.
    expect(stderr.split("\n").filter((line) => line.includes(name))).toEqual([]);
    expect([0, 1]).toContain(status);
  },
);

it.skipIf(spawnSync("python3", ["-c", "import plistlib"]).status !== 0)(
  "is a property list that launchd can read",
  () => {
    const { text, path } = serviceFile({ ...options, kind: "launchd" });
    expect(path).toMatch(/^\/home\/me\/Library\/LaunchAgents\/dev\.aegis\..*\.plist$/);
    const program = "import json, plistlib, sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))";
    const { stdout, stderr } = spawnSync("python3", ["-c", program], { input: text, encoding: "utf8" });
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toMatchObject({
      ProgramArguments: [...options.program, "-C", odd, "serve"],
      WorkingDirectory: odd,
      EnvironmentVariables: { PATH: options.path },
      RunAtLoad: true,
      KeepAlive: { SuccessfulExit: false },
    });
  },
);

/** A systemctl that starts and stops the one service it was told of, as systemd would. */
const manager = `#!/bin/sh
shift
dir=$(dirname "$0")
case "$1" in
  enable) [ "$2" = --now ] || exit 0
    start=$(sed -n 's/^ExecStart=//p' "$HOME"/.config/systemd/user/"$3")
    sh -c "exec $start" > "$dir/journal" 2>&1 & echo $! > "$dir/pid" ;;
  disable) kill "$(cat "$dir/pid")"; rm "$dir/pid" ;;
  is-enabled|is-active) [ -f "$dir/pid" ] ;;
esac
`;

it.skipIf(process.platform !== "linux")(
  "starts the daemon as a service, reports it, and removes it",
  { tags: "slow" },
  async () => {
    const project = await aegisProject();
    const { aegis, json, env } = project;
    const bin = await tempDir();
    env.PATH = `${bin}:${env.PATH}`;
    const printed = await aegis("service", "install", "--print");
    expect(printed.stdout).toContain(`"-C" "${project.root}" "serve"`);

    await writeFile(join(bin, "systemctl"), "#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n", {
      mode: 0o755,
    });
    const refused = await aegis("service", "install");
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(/Failed to connect to bus[\s\S]*aegis up/);
    expect((await json("service", "status")).installed).toBe(false);

    await writeFile(join(bin, "systemctl"), manager);
    await chmod(join(bin, "systemctl"), 0o755);
    const { file } = await json<{ file: string }>("service", "install");
    await waitUntil("the daemon runs", async () => (await project.daemonPid()) !== null);
    expect(await json("service", "status")).toMatchObject({
      installed: true,
      enabled: true,
      running: true,
      current: true,
    });
    expect((await aegis("run", "hello")).code).toBe(0);

    await writeFile(file, (await readFile(file, "utf8")).replace("RestartSec=5", "RestartSec=6"));
    expect((await aegis("service", "status")).stdout).toContain("Write it again with: aegis service install");
    expect((await json("service", "uninstall")).removed).toBe(true);
    expect(existsSync(file)).toBe(false);
    await waitUntil("the daemon has ended", async () => (await project.daemonPid()) === null);
    expect((await aegis("service", "uninstall")).stdout).toContain("No service is installed");
  },
);
