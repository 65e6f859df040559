/** Desktop notifications of a real daemon, shown by a program that stands in for the desktop's. */
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isRunning } from "../helpers/pids.ts";
import { obedient, testProject } from "../helpers/project.ts";
import { scaled } from "../helpers/slowness.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const config = `${obedient[".aegis.yaml"]}notify: { desktop: true }\n`;
const program = '#!/bin/sh\nprintf "%s|" "$@" >> "$(dirname "$0")/shown"\necho >> "$(dirname "$0")/shown"\n';
const timeout = { timeout: scaled(60_000) };

it.skipIf(process.platform !== "linux")("shows asks as plain text", timeout, async () => {
  const project = await testProject({ ...obedient, ".aegis.yaml": config, "bin/notify-send": program });
  await chmod(join(project.dir, "bin/notify-send"), 0o755);
  const { client } = await project.start({ env: { PATH: `${join(project.dir, "bin")}:/usr/bin:/bin` } });
  await client.call("createSession", { body: { prompt: "may you <b>--deploy</b>" } });
  const shown = () => readFile(join(project.dir, "bin/shown"), "utf8").catch(() => "");
  await waitUntil("a notification was shown", async () => (await shown()).includes("\n"));
  expect(await shown()).toBe(`--app-name=Aegis|--|may you --deploy asks|May I &lt;b&gt;--deploy&lt;/b&gt;?|\n`);
  expect((await client.call("status")).channels).toMatchObject([{ name: "desktop", state: "ok" }]);
});

it.skipIf(process.platform !== "linux")("says that the program is missing", timeout, async () => {
  const project = await testProject({ ...obedient, ".aegis.yaml": config });
  const { client } = await project.start({ env: { PATH: join(project.dir, "empty") } });
  const state = async () => (await client.call("listChannels")).channels[0];
  await waitUntil("it is off", async () => (await state())?.state === "off");
  expect(await state()).toMatchObject({ detail: expect.stringContaining("notify-send") });
});

/** Kills the daemon, its parent, when a file says so, or hangs. */
const deadly = `#!/bin/sh
cd "$(dirname "$0")"
end() { if [ -f "$1" ]; then rm "$1"; kill -9 $PPID; exit 1; fi; }
end before
echo "$4" >> shown
end after
if [ -f hang ]; then rm hang; echo $$ > pid; exec sleep 600; fi
`;

it.skipIf(process.platform !== "linux").each(["before", "after", "hang"])(
  "shows an ask in each life of the daemon at most once, killed %s",
  { ...timeout, tags: "slow" },
  async (when) => {
    const project = await testProject({ ...obedient, ".aegis.yaml": config, "bin/notify-send": deadly });
    const bin = join(project.dir, "bin");
    await chmod(join(bin, "notify-send"), 0o755);
    const env = { PATH: `${bin}:/usr/bin:/bin` };
    const read = (name: string) => readFile(join(bin, name), "utf8").catch(() => "");
    await writeFile(join(bin, when), "");
    const first = await project.start({ env });
    await first.client.call("createSession", { body: { prompt: "may you deploy" } });
    if (when === "hang") {
      await waitUntil("the program hangs", async () => (await read("pid")).endsWith("\n"));
      await first.kill();
    } else await first.exited;
    const before = (await read("shown")).split("\n").length - 1;
    expect(before).toBe(when === "before" ? 0 : 1);
    const { client } = await project.start({ env });
    // The ask is still open, and the repeated turn waits for the same one.
    await waitUntil("it is shown again", async () => (await read("shown")).split("\n").length - 1 === before + 1);
    const { asks } = await client.call("listAsks", {});
    expect(asks.filter(({ status }) => status === "open")).toHaveLength(1);
    expect((await client.call("listChannels")).channels).toMatchObject([{ name: "desktop", state: "ok" }]);
    await waitUntil("the turn is repeated", async () => {
      const { events } = await client.call("listEvents", { query: {} });
      return events.filter(({ type }) => type === "turn.started").length === 2;
    });
    expect((await read("shown")).split("\n").length - 1).toBe(before + 1);
    if (when === "hang")
      await waitUntil("the program of the dead daemon is gone", async () => !isRunning(Number(await read("pid"))));
  },
);
