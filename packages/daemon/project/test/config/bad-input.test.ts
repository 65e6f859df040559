import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { formatProblem } from "../../src/config/problem.ts";
import { createProject, harnesses, problemsIn } from "./project.ts";

const dev = "agents: {dev: {harness: codex}}\n";

describe("problems in config files", () => {
  it("come all at once, each with its place", async () => {
    const problems = await problemsIn({
      ".aegis.yaml": [
        "default_agent: devv", // 1
        "agnets: {}", // 2
        "agents:", // 3
        "  dev:", // 4
        "    harness: codx", // 5
        "    effort: hgh", // 6
        "    model: a", // 7
        "    model: b", // 8
        "    env: {PORT: 80}", // 9
        "server: {port: 99999}", // 10
        "",
      ].join("\n"),
      ".aegis/queues/build.yaml": "agent: dve\nmax_paralel: 2\n",
    });
    expect(problems).toEqual([
      expect.stringContaining(
        '.aegis.yaml:1:16 default_agent: expected the name of a declared agent, found "devv" (did you mean "dev"?); known: dev, offline',
      ),
      expect.stringMatching(
        /^\.aegis\.yaml:2:1 agnets: unknown key "agnets" \(did you mean "agents"\?\); expected one of default_agent, agents, /,
      ),
      expect.stringMatching(
        /^\.aegis\.yaml:5:14 agents\.dev\.harness: expected the name of a harness, found "codx" \(did you mean "codex"\?\)/,
      ),
      '.aegis.yaml:6:13 agents.dev.effort: expected one of low, medium, high, found "hgh" (did you mean "high"?)',
      '.aegis.yaml:8:5 agents.dev.model: expected the key "model" once, found it again (first on line 7)',
      ".aegis.yaml:9:17 agents.dev.env.PORT: expected text, found 80 (put it in quotes)",
      ".aegis.yaml:10:16 server.port: expected at most 65535, found 99999",
      expect.stringContaining(
        '.aegis/queues/build.yaml:1:8 queues.build.agent: expected the name of a declared agent, found "dve" (did you mean "dev"?); known: dev, offline',
      ),
      expect.stringMatching(
        /^\.aegis\/queues\/build\.yaml:2:1 queues\.build\.max_paralel: unknown key "max_paralel" \(did you mean "max_parallel"\?\)/,
      ),
    ]);
  });

  it("name the key of Aegis for a key of Conduit, once", async () => {
    const problems = await problemsIn({
      ".aegis.yaml": [
        "default_agent: dev", // 1
        "agents:", // 2
        "  dev: {harness: codex}", // 3
        "  subagents: {enabled: true, max_spawn_depth: 2, max_children: 5, default_timeout: 300}", // 4
        "  list: [{id: analyst, provider: opus}]", // 5
        'skills: {enabled: true, dir: "~/.conduit/skills"}', // 6
        'plugins: {enabled: true, dir: "~/.conduit/plugins"}', // 7
        "",
      ].join("\n"),
    });
    const here = (place: string, key: string) => `.aegis.yaml:${place} ${key}: not a key of Aegis; here it is`;
    expect(problems.toSorted()).toEqual([
      `${here("4:3", "agents.subagents")} subagents at the top level; an agent's own are in agents.<name>.subagents`,
      `${here("5:3", "agents.list")} agents.<name>, a map with the id as the key`,
      `${here("6:25", "skills.dir")} skills.dirs, a list of folders`,
      `${here("7:26", "plugins.dir")} plugin_dirs at the top level, a list of folders`,
    ]);
  });

  it.each([
    [
      "a time without its unit",
      `${dev}cluster: {database: "\${URL}", lease: 10}\n`,
      /^\.aegis\.yaml:2:38 cluster\.lease: expected a time from 1s to 10m with its unit, as in 30s, 5m or 1h, found 10$/,
    ],
    [
      "a list that never ends",
      "agents:\n  dev: {harness: codex}\nplugin_dirs: [a\npool: {max: 1}\n",
      /^\.aegis\.yaml:4:1 pool: not valid YAML: Flow sequence/,
    ],
    ["a tab as indentation", "agents:\n\tdev: {}\n", /^\.aegis\.yaml:2:1 .*not valid YAML: Tabs/],
    ["an unknown tag", "agents: !secret {}\n", /^\.aegis\.yaml:1:9 agents: not valid YAML: Unresolved tag: !secret/],
    ["a second document", "agents: {}\n---\nagents: {}\n", /expected one YAML document/],
    ["a map as a key", "? {a: b}\n: c\n", /expected a plain word as the key/],
    ["an alias without an anchor", "agents: *nobody\n", /^\.aegis\.yaml:1:9 agents: expected an anchor &nobody above/],
    [
      "an alias inside its own anchor",
      "plugins: &p {x: {y: *p}}\n",
      /^\.aegis\.yaml:1:21 plugins\.x\.y: the alias \*p stands inside/,
    ],
    ["a merge of something that is no map", "agents: {dev: {<<: 5}}\n", /^\.aegis\.yaml:1:20 .*not valid YAML: Merge/],
    ["a list where a map belongs", "agents: [dev]\n", /^\.aegis\.yaml:1:9 agents: expected a map, found a list/],
    ["a scalar for the whole file", "hello\n", /^\.aegis\.yaml:1:1: expected a map, found "hello"/],
    [
      "text where a number belongs",
      `${dev}pool: {max: "3"}\n`,
      /^\.aegis\.yaml:2:13 pool\.max: expected a number, found "3" \(leave the quotes out\)/,
    ],
    ["half a number", `${dev}pool: {max: 2.5}\n`, /pool\.max: expected a whole number, found 2\.5/],
    ["zero where there must be one", `${dev}pool: {max: 0}\n`, /pool\.max: expected at least 1, found 0/],
    ["a word for a time", `${dev}asks: {timeout: soon}\n`, /asks\.timeout: expected a number of seconds, or "turn"/],
    ["no time at all", `${dev}hooks: {timeout: 0}\n`, /hooks\.timeout: expected more than 0, found 0/],
    [
      "a bad name",
      "agents: {'My Agent': {harness: codex}}\n",
      /^\.aegis\.yaml:1:10 agents\.My Agent: expected lower-case letters .* found "My Agent"/,
    ],
    ["a reserved name", "agents: {__proto__: {harness: codex}}\n", /agents\.__proto__: expected another name/],
    [
      "an agent without a harness",
      "agents:\n  dev: {model: x}\n",
      /^\.aegis\.yaml:2:3 agents\.dev\.harness: expected harness or provider, found nothing/,
    ],
    [
      "harness and its synonym",
      "agents: {dev: {harness: codex, provider: codex}}\n",
      /agents\.dev\.provider: expected only one of harness or provider/,
    ],
    [
      "ACP without a program",
      "agents: {dev: {harness: acp}}\n",
      /agents\.dev\.command: expected the program that speaks ACP/,
    ],
    [
      "a bad variable name",
      "agents: {dev: {harness: codex, env: {A-B: x}}}\n",
      /agents\.dev\.env\.A-B: expected the name of an environment variable/,
    ],
    [
      "an unknown agent to spawn",
      "agents: {dev: {harness: codex, subagents: {allow_agents: [dve]}}}\n",
      /allow_agents\.0: .*"dve" \(did you mean "dev"\?\)/,
    ],
    [
      "an unknown agent in a group",
      `${dev}groups: {presets: {g: {agents: [dve]}}}\n`,
      /groups\.presets\.g\.agents\.0: .*"dve"/,
    ],
    [
      "a schedule of an unknown queue",
      `${dev}schedules: {s: {queue: q, payload: x, cron: '* * * * *'}}\n`,
      /schedules\.s\.queue: .*found "q"; there is none/,
    ],
    [
      "a schedule of an unknown agent",
      `${dev}schedules: {s: {agent: dve, prompt: x, cron: '* * * * *'}}\n`,
      /schedules\.s\.agent: .*found "dve"/,
    ],
    [
      "a schedule of nothing",
      `${dev}schedules: {s: {cron: '* * * * *'}}\n`,
      /schedules\.s\.workflow: expected workflow or queue or agent, found nothing/,
    ],
    [
      "a schedule without a time",
      `${dev}schedules: {s: {agent: dev, prompt: x}}\n`,
      /schedules\.s\.cron: expected cron or fire_at, found nothing/,
    ],
    [
      "an impossible cron",
      `${dev}schedules: {s: {agent: dev, prompt: x, cron: '0 25 * * *'}}\n`,
      /schedules\.s\.cron: expected five cron fields.*"0 25/,
    ],
    [
      "an unknown time zone",
      `${dev}schedules: {s: {agent: dev, prompt: x, cron: '0 5 * * *', timezone: Mars/Base}}\n`,
      /timezone: expected a time zone name such as Europe\/Berlin, found/,
    ],
    [
      "a time zone with a slip in it",
      `${dev}schedules: {s: {agent: dev, prompt: x, cron: '0 5 * * *', timezone: Europe/Berln}}\n`,
      /did you mean "Europe\/Berlin"/,
    ],
    [
      "a budget of nothing",
      `${dev}queues: {q: {agent: dev, budgets: [{window: 1h}]}}\n`,
      /queues\.q\.budgets\.0\.usd: expected usd or output_tokens/,
    ],
    [
      "an address that is none",
      `${dev}models: {m: {base_url: "not a url"}}\n`,
      /models\.m\.base_url: expected an http or https address, found "not a url"/,
    ],
    [
      "a missing prompt file",
      "agents: {dev: {harness: codex, prompt: p.md}}\n",
      /^\.aegis\.yaml:1:40 agents\.dev\.prompt: .* found no file "p\.md"/,
    ],
    [
      "a prompt file above the project",
      "agents: {dev: {harness: codex, prompt: ../p.md}}\n",
      /prompt: .*"\.\.\/p\.md", which is outside/,
    ],
    ["an absolute prompt file", "agents: {dev: {harness: codex, prompt: /etc/passwd}}\n", /prompt: .*which is outside/],
    ["values nested too deeply", "[".repeat(50_000), /expected a flat file|not valid YAML/],
  ])("names %s", async (_, text, expected) => {
    const problems = await problemsIn({ ".aegis.yaml": text });
    expect(
      problems.some((problem) => expected.test(problem)),
      problems.join("\n"),
    ).toBe(true);
  });

  it("refuses aliases that unfold to too much, and quickly", async () => {
    const rows = "abcdefghij".split("").map((name, index, all) => {
      const inner = index === 0 ? "x" : `*${all[index - 1]}`;
      return `  ${name}: &${name} [${Array.from({ length: 9 }, () => inner).join(", ")}]\n`;
    });
    const start = performance.now();
    const problems = await problemsIn({ ".aegis.yaml": `plugins:\n  bomb:\n${rows.join("").replaceAll(/^/gm, "  ")}` });
    expect(problems).toEqual([
      expect.stringMatching(/plugins\.bomb\.f.*: expected at most 100000 values with aliases followed/),
    ]);
    expect(performance.now() - start).toBeLessThan(scaled(2_000));
  });

  it("refuses more aliases than any hand writes", async () => {
    const uses = Array.from({ length: 1500 }, () => "*a").join(", ");
    const problems = await problemsIn({ ".aegis.yaml": `plugins: {p: {a: &a x, list: [${uses}]}}\n` });
    expect(problems).toEqual([expect.stringMatching(/plugins\.p\.list\.1000: expected at most 1000 aliases/)]);
  });

  it("refuses bytes that are no text, at their place", async () => {
    const bad = Buffer.concat([Buffer.from("agents:\n  dev: "), Buffer.from([0xff, 0xfe]), Buffer.from("\n")]);
    expect(await problemsIn({ ".aegis.yaml": bad })).toEqual([
      ".aegis.yaml:2:8: expected UTF-8 text, found a byte that is not",
    ]);
    expect(await problemsIn({ ".aegis.yaml": "agents: {}\n\0" })).toEqual([
      ".aegis.yaml:2:1: expected text, found a NUL byte",
    ]);
  });

  it("refuses a file of more than a megabyte", async () => {
    const problems = await problemsIn({ ".aegis.yaml": `# ${"x".repeat(1024 * 1024)}\n` });
    expect(problems).toEqual([
      expect.stringMatching(/^\.aegis\.yaml:1:1: .*expected at most 1048576 bytes, found 1048579/),
    ]);
  });

  it("refuses a folder and a link to nowhere in the file's place", async () => {
    expect(await problemsIn({ ".aegis.yaml/x": "" })).toEqual([
      expect.stringMatching(/^\.aegis\.yaml:1:1: cannot be read: expected a file/),
    ]);
  });

  it("names both places of a name declared twice, and blames only the second", async () => {
    expect(
      await problemsIn({ ".aegis.yaml": `# team\n${dev}`, ".aegis/agents/dev.yaml": "harness: nonsense\n" }),
    ).toEqual([
      '.aegis/agents/dev.yaml:1:1 agents.dev: expected "dev" to be declared once, found it here and at .aegis.yaml:2:10',
    ]);
  });

  it("checks the names of overlay files and what they hold", async () => {
    const problems = await problemsIn({
      ".aegis.yaml": dev,
      ".aegis/agents/Bad Name.yaml": "harness: codex\n",
      ".aegis/queues/list.yaml": "- agent: dev\n",
      ".aegis/queues/late.yml": "agent: dev\n",
      ".aegis/agents/empty.yaml": "",
    });
    expect(problems).toEqual([
      expect.stringMatching(/^\.aegis\/agents\/Bad Name\.yaml:1:1 agents\.Bad Name: expected lower-case letters/),
      expect.stringMatching(/^\.aegis\/agents\/empty\.yaml:1:1 agents\.empty\.harness: expected harness or provider/),
      expect.stringMatching(/^\.aegis\/queues\/late\.yml:1:1: expected a name that ends in \.yaml/),
      ".aegis/queues/list.yaml:1:1 queues.list: expected a map, found a list",
    ]);
  });

  it("blames the local file for what it says itself", async () => {
    const problems = await problemsIn({
      ".aegis.yaml": dev,
      ".aegis.local.yaml": "agents:\n  dev: {effort: max}\n  extra: {model: x}\n",
    });
    expect(problems).toEqual([
      '.aegis.local.yaml:2:17 agents.dev.effort: expected one of low, medium, high, found "max"',
      expect.stringMatching(/^\.aegis\.local\.yaml:3:3 agents\.extra\.harness: expected harness or provider/),
    ]);
  });

  it("names what is wrong in the shared file although the local one covers it", async () => {
    const problems = await problemsIn({
      ".aegis.yaml": "pool: {max: many}\nagents: {dev: {model: x}}\n",
      ".aegis.local.yaml": "pool: {max: 3}\nagents: {dev: {harness: codex}}\n",
    });
    expect(problems).toEqual(['.aegis.yaml:1:13 pool.max: expected a number, found "many"']);
  });

  it("follows a merge key to the line that is wrong", async () => {
    const problems = await problemsIn({
      ".aegis.yaml": "agents:\n  dev: &dev\n    harness: codex\n    effort: huge\n  rev: {<<: *dev}\n",
    });
    expect(problems.map((line) => line.split(":").slice(0, 3).join(":"))).toEqual([
      ".aegis.yaml:4:13 agents.dev.effort",
      ".aegis.yaml:4:13 agents.rev.effort",
    ]);
  });

  it("reports sound lines before a broken one, and no name that may stand behind it", async () => {
    const problems = await problemsIn({
      ".aegis.yaml": "default_agent: dev\nserver: {prt: 1}\nagents:\n  dev:\n    harness: 'codex\n",
    });
    expect(problems).toEqual([
      expect.stringMatching(/^\.aegis\.yaml:2:10 server\.prt: unknown key "prt" \(did you mean "port"\?\)/),
      expect.stringMatching(/not valid YAML: Missing closing 'quote/),
    ]);
  });

  it("refuses a prompt that a link leads out of the project", async () => {
    const { root } = await createProject({ ".aegis.yaml": "agents: {dev: {harness: codex, prompt: p.md}}\n" });
    const outside = await tempDir();
    await writeFile(join(outside, "p.md"), "x");
    await symlink(join(outside, "p.md"), join(root, "p.md"));
    const { problems } = await loadConfig({ cwd: root, harnesses });
    expect(problems.map(formatProblem)).toEqual([expect.stringMatching(/prompt: .*which is outside/)]);
  });

  it("judges workflow names when it is told them", async () => {
    const { root } = await createProject({
      ".aegis.yaml": "schedules: {s: {workflow: tdd_cycl, cron: '0 5 * * 1-5'}}\n",
    });
    expect((await loadConfig({ cwd: root, harnesses })).problems).toEqual([]);
    const { problems } = await loadConfig({ cwd: root, harnesses, workflows: ["tdd_cycle"] });
    expect(problems.map(formatProblem)).toEqual([
      expect.stringMatching(/schedules\.s\.workflow: .*did you mean "tdd_cycle"/),
    ]);
  });
});
