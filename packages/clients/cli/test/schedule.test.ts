import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { aegisProject, offlineConfig } from "@aegis/test/helpers/aegis.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";

const config = `${offlineConfig}queues:
  work: { agent: helper }
schedules:
  # every night
  nightly:
    queue: work # the line
    payload: clean up
    cron: "0 3 * * *" # at three
    timezone: Europe/Berlin
`;

describe("aegis schedule", () => {
  it("adds, lists, shows, runs and removes", async () => {
    const at = await aegisProject();
    expect((await at.aegis("schedule", "list")).stdout).toContain("No schedules.");
    const added = await at.aegis(
      ...["schedule", "add", "standup", "--agent", "dev", "--prompt", "what is new?"],
      ...["--cron", "0 9 * * 1-5", "--timezone", "America/New_York", "--fires", "3", "--missed", "once"],
    );
    expect(added.stdout).toMatch(
      /^added schedule standup \(\.aegis\/schedules\/standup\.yaml\)\nnext firing: .* 09:00 America\/New_York\n$/,
    );
    const file = await readFile(join(at.root, ".aegis/schedules/standup.yaml"), "utf8");
    expect(file).toContain('cron: "0 9 * * 1-5"\n');
    expect(file).not.toContain("enabled");
    const list = (await at.aegis("schedule", "list")).stdout;
    expect(list).toMatch(/standup +0 9 \* \* 1-5 +in \d+[smhd] +- +on +agent dev: what is new\?/);
    const ran = await at.aegis("schedule", "run", "standup", "--wait");
    expect(ran.code).toBe(0);
    expect(ran.stdout.trim()).not.toBe("");
    expect((await at.aegis("schedule", "logs", "standup")).stdout).toMatch(/by hand +ok +\S+ +ses_/);
    const shown = (await at.aegis("schedule", "show", "standup")).stdout;
    expect(shown).toContain("3 firings in all, fired 0 times");
    const { schedules } = await at.json<{ schedules: { name: string; missed: string }[] }>("schedule", "list");
    expect(schedules).toMatchObject([{ name: "standup", missed: "once" }]);
    expect((await at.aegis("schedule", "remove", "standup")).stdout).toContain("removed schedule standup");
    expect((await at.aegis("schedule", "show", "standup")).code).not.toBe(0);
  });

  it("says of a file that is put there by hand what is wrong with it", { tags: "slow" }, async () => {
    const at = await aegisProject();
    await at.aegis("up");
    await mkdir(join(at.root, ".aegis/schedules"), { recursive: true });
    await writeFile(join(at.root, ".aegis/schedules/bad.yaml"), 'agent: deb\nprompt: x\ncron: "0 9 * * *"\n');
    const problem =
      '.aegis/schedules/bad.yaml:1:8 schedules.bad.agent: expected the name of a declared agent, found "deb"';
    await waitUntil("it is told", async () => (await at.aegis("schedule", "list")).stderr.includes(problem));
    await writeFile(join(at.root, ".aegis/schedules/bad.yaml"), 'agent: dev\nprompt: x\ncron: "0 9 * * *"\n');
    await waitUntil("it is taken up", async () => (await at.aegis("schedule", "list")).stdout.includes("agent dev: x"));
    expect((await at.aegis("schedule", "list")).stderr).toBe("");
  });

  it("shows the next times by the clocks of the schedule and of this machine", async () => {
    const at = await aegisProject({ ".aegis.yaml": config });
    const { stdout } = await at.aegis("schedule", "next", "nightly", "-n", "2");
    expect(stdout.trim().split("\n")).toHaveLength(2);
    expect(stdout).toMatch(/^\w{3} \d{4}-\d\d-\d\d 03:00 Europe\/Berlin {3}\w{3} \d{4}-\d\d-\d\d 0[12]:00 \S+\n/);
  });

  it("switches one on and off in the file that declares it, and keeps its comments", async () => {
    const at = await aegisProject({ ".aegis.yaml": config });
    expect((await at.aegis("schedule", "disable", "nightly")).stdout).toBe("nightly is disabled (.aegis.yaml)\n");
    expect(await readFile(join(at.root, ".aegis.yaml"), "utf8")).toBe(`${config}    enabled: false\n`);
    expect((await at.aegis("schedule", "disable", "nightly")).stdout).toBe("nothing to change: nightly is disabled\n");
    expect((await at.aegis("schedule", "next", "nightly")).stdout).toContain("is disabled");
    expect((await at.aegis("schedule", "enable", "nightly")).stdout).toBe("nightly is enabled (.aegis.yaml)\n");
  });

  it("does nothing that came with the files before somebody has agreed, and says so; adding one is agreeing", {
    tags: "slow",
  }, async () => {
    const at = await aegisProject({ ".aegis.yaml": config }, { trusted: false });
    const list = await at.aegis("schedule", "list");
    expect(list.stdout).toContain("No schedules in effect.");
    expect(list.stderr).toContain("nightly has no effect: you have not agreed to it; look at it with: aegis trust");
    expect((await at.aegis("schedule", "run", "nightly")).stderr).toContain("has no effect");
    await at.aegis("schedule", "add", "mine", "--queue", "work", "--payload", "go", "--at", "2020-01-01T00:00:00Z");
    await waitUntil("mine has fired", async () => (await at.aegis("schedule", "logs")).stdout.includes("ok"));
    expect((await at.aegis("schedule", "logs")).stdout).toMatch(/^SCHEDULE +SLOT.*\nmine +2020-01-01T00:00Z late +ok/);
    await at.aegis("trust", "--yes");
    await waitUntil("nightly is in effect", async () =>
      (await at.aegis("schedule", "list")).stdout.includes("nightly"),
    );
  });

  it("says what is wrong before it does anything", { tags: "slow" }, async () => {
    const at = await aegisProject({ ".aegis.yaml": config });
    const wrong: [string[], RegExp][] = [
      [["add", "x"], /the action is missing/],
      [["add", "x", "--agent", "dev", "--prompt", "y"], /the time is missing/],
      [["add", "x", "--agent", "dev", "--prompt", "y", "--cron", "0 9 * *"], /it has 4 fields/],
      [["add", "x", "--agent", "dve", "--prompt", "y", "--in", "5m"], /did you mean "dev"/],
      [["add", "x", "--workflow", "tdd_cycl", "--in", "5m"], /did you mean "tdd_cycle"/],
      [["add", "x", "--workflow", "tdd_cycle", "--args", "[]", "--in", "5m"], /not a JSON object/],
      [["add", "x", "--agent", "dev", "--prompt", "y", "--in", "5m", "--missed", "never"], /expected skip, once, all/],
      [["add", "x", "--agent", "dev", "--prompt", "y", "--in", "5m", "--once", "--fires", "2"], /only one of/],
      [["show", "nighty"], /did you mean "nightly"/],
    ];
    for (const [args, words] of wrong) {
      const { code, stderr } = await at.aegis("schedule", ...args);
      expect(stderr, args.join(" ")).toMatch(words);
      expect(code, args.join(" ")).not.toBe(0);
    }
  });
});
