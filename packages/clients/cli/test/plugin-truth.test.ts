/** What the commands say about a plugin is what the daemon makes of it. */
import { aegisProject, offlineConfig } from "@aegis/test/helpers/aegis.ts";
import { expect, it } from "vitest";

const manifest = (name: string, more = "") =>
  `[plugin]\nname = "${name}"\nversion = "1.0.0"\ndescription = "x"\n${more}`;
const hello = 'import { hook } from "aegis";\nexport const greet = hook("pre_turn", async () => null);\n';

type Plugins = { plugins: { name: string; status: string }[] };

it("succeeds where the daemon loads the plugin, also with a text in its default settings", {
  tags: "slow",
}, async () => {
  const { aegis, json } = await aegisProject({
    ".aegis.yaml": offlineConfig,
    "shelf/warm/plugin.toml": manifest("warm", '[default_config]\ntone = "warm"\n'),
    "shelf/warm/warm.ts": hello,
  });
  await aegis("up");
  for (const from of [["--from", "./shelf/warm"], []]) {
    const name = from.length === 0 ? "memory-system" : "warm";
    const done = await aegis("plugin", "install", name, ...from, "--yes");
    expect(done.code, done.stderr).toBe(0);
    expect(done.stdout).toContain(`Installed ${name}`);
    expect(done.stderr).not.toContain("cannot load it");
  }
  const { plugins } = await json<Plugins>("plugin", "list");
  expect(plugins.map(({ status }) => status)).toEqual(["loaded", "loaded"]);
});

it("updates with a daemon that runs, and a new text in the default settings", { tags: "slow" }, async () => {
  const { aegis, root } = await aegisProject({
    ".aegis.yaml": offlineConfig,
    "shelf/warm/plugin.toml": manifest("warm"),
    "shelf/warm/warm.ts": hello,
  });
  await aegis("plugin", "install", "warm", "--from", "./shelf/warm", "--yes");
  await aegis("up");
  const { writeFile } = await import("node:fs/promises");
  await writeFile(`${root}/shelf/warm/plugin.toml`, manifest("warm", '[default_config]\ntone = "warm"\n'));
  const done = await aegis("plugin", "update", "warm", "--yes");
  expect(done.code, done.stderr).toBe(0);
  expect(done.stdout).toContain("Updated warm 1.0.0 → 1.0.0.");
});

it("tells which agents and tools are left out, before and after the install, and in doctor", {
  tags: "slow",
}, async () => {
  const { aegis } = await aegisProject({
    ".aegis.yaml": offlineConfig,
    "shelf/bad/plugin.toml": manifest(
      "bad",
      `[[agents]]
name = "gone"
system_prompt_file = "gone.md"
[[agents]]
name = "out"
system_prompt_file = "../out.md"
[[tools]]
name = "bash"
command = "true"
permission = "read"
description = "reserved"
[[tools]]
name = "lost"
command = "./no-such-program"
permission = "read"
description = "missing"
[[tools]]
name = "odd"
command = "true"
permission = "read"
description = "bad schema"
schema = { type = "nonsense" }
[[tools]]
name = "foreign"
command = "true"
permission = "read"
description = "of another"
required_agent = "spoof:helper"
`,
    ),
    "shelf/bad/hello.ts": hello,
  });
  const left = [
    /the agent "gone" is left out/,
    /the agent "out" is left out/,
    /the tool "bash" is left out/,
    /the tool "lost" is left out/,
    /the tool "odd" is left out/,
    /the tool "foreign" requires the agent "spoof:helper".* only if its own tools name it/,
  ];
  const validated = await aegis("plugin", "validate", "shelf/bad");
  const installed = await aegis("plugin", "install", "bad", "--from", "./shelf/bad", "--yes");
  expect(installed.code, installed.stderr).toBe(0);
  for (const message of left) {
    expect(validated.stderr).toMatch(message);
    expect(installed.stderr).toMatch(message);
  }
  expect(validated.code).toBe(1);
  for (const state of ["down", "up"]) {
    if (state === "up") await aegis("up");
    const doctor = (await aegis("doctor")).stdout;
    expect(doctor, state).toMatch(/warn +plugins +the plugin bad: the agent "gone" is left out/);
  }
});

it("lists a plugin that failed to load in doctor, with and without a daemon", { tags: "slow" }, async () => {
  const { aegis } = await aegisProject({
    ".aegis.yaml": offlineConfig,
    ".aegis/plugins/late/plugin.toml": manifest("late", 'requires_aegis = ">=90"\n'),
    ".aegis/plugins/late/late.ts": hello,
  });
  await aegis("trust", "--yes");
  const without = await aegis("doctor");
  expect(without.stdout).toMatch(/FAIL +plugins +the plugin late is not loaded: it requires Aegis >=90/);
  expect(without.code).not.toBe(0);
  await aegis("up");
  expect((await aegis("doctor")).stdout).toMatch(
    /FAIL +plugins +the plugin late is not loaded: it requires Aegis >=90/,
  );
});

const python = (name: string, more = "") => ({
  [`shelf/${name}/plugin.toml`]: manifest(name, more),
  [`shelf/${name}/__init__.py`]: "def register(api): pass\n",
  [`shelf/${name}/hooks.py`]: "x = 1\n",
});

it("refuses a plugin of which only Python modules could run, and offers the one that Aegis has", {
  tags: "slow",
}, async () => {
  const { aegis, json } = await aegisProject({
    ".aegis.yaml": offlineConfig,
    ...python("skill-system", 'requires_aegis = ">=0.15"\n'),
    ...python("proxy"),
    "shelf/conduit/plugin.json": '{"name":"conduit","version":"1.0.0","description":"x"}',
    "shelf/conduit/__init__.py": "def register(api): pass\n",
    ...python("pages"),
    "shelf/pages/skills/one/SKILL.md": "---\nname: one\ndescription: A page\n---\nDo it.\n",
    "shelf/tools/plugin.toml": manifest(
      "tools",
      '[[tools]]\nname = "say"\ncommand = "python3"\nargs = ["say.py"]\npermission = "read"\ndescription = "says"\n',
    ),
    "shelf/tools/say.py": "print(1)\n",
    ".aegis/plugins/old/plugin.toml": manifest("old"),
    ".aegis/plugins/old/main.py": "x = 1\n",
  });
  const install = (name: string) => aegis("plugin", "install", name, "--from", `./shelf/${name}`, "--yes");
  for (const name of ["skill-system", "proxy", "conduit"]) {
    const refused = await install(name);
    expect(refused.code, name).not.toBe(0);
    expect(refused.stdout).not.toContain("Installed");
    expect(refused.stderr).toMatch(/nothing of it can run: it has Python modules \(__init__\.py/);
    expect(refused.stderr).toContain("Aegis runs TypeScript and JavaScript modules");
    expect(refused.stderr).toContain("programs in any language as executable tools");
    expect(refused.stderr.includes("aegis plugin install skill-system")).toBe(name === "skill-system");
    const validated = await aegis("plugin", "validate", `shelf/${name}`, "--load");
    expect(validated.code).toBe(1);
    expect(validated.stderr).toContain("nothing of it can run: it has Python modules");
  }
  expect((await install("tools")).code).toBe(0);
  const pages = await install("pages");
  expect(pages.code).toBe(0);
  expect(pages.stderr).toMatch(/hooks\.py: has no effect here: Aegis runs TypeScript/);
  await aegis("trust", "--yes");
  await aegis("up");
  expect((await json<Plugins>("plugin", "list")).plugins.find(({ name }) => name === "old")?.status).toBe("failed");
  expect((await aegis("plugin", "show", "old")).stdout).toContain("nothing of it can run: it has Python modules");
});

it("explains versions of the Python program, and reads ranges as Python writes them", async () => {
  const { aegis } = await aegisProject({
    ".aegis.yaml": offlineConfig,
    "shelf/up/plugin.toml": manifest("up", 'requires_aegis = ">=0.15"\n'),
    "shelf/up/up.ts": hello,
    "shelf/comma/plugin.toml": manifest("comma", 'requires_aegis = ">=0.1,<1"\n'),
    "shelf/comma/comma.ts": hello,
  });
  const upstream = await aegis("plugin", "install", "up", "--from", "./shelf/up", "--yes");
  expect(upstream.code).not.toBe(0);
  expect(upstream.stderr).toContain(">=0.15 counts the versions of the Python program");
  expect(upstream.stderr).toMatch(/requires_aegis = ">=0\.\d+"/);
  const comma = await aegis("plugin", "install", "comma", "--from", "./shelf/comma", "--yes");
  expect(comma.code, comma.stderr).toBe(0);
});
