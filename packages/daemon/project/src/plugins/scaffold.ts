/** Creates a new plugin: all of its files or none. */
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { exists, isErrno } from "@aegis/lib/files.ts";
import { packageVersion } from "@aegis/lib/version.ts";
import { pluginNameProblem } from "@aegis/plugins/manifest.ts";
import { linkAegis } from "./link.ts";

export type ScaffoldedPlugin = { place: string; files: Pick<TemplateFile, "path" | "about">[] };

/** Creates the plugin's folder in `dir`. Throws `invalid` for a wrong name and `conflict` for a name in use. */
export async function scaffoldPlugin(dir: string, name: string, kind: PluginKind): Promise<ScaffoldedPlugin> {
  const problem = pluginNameProblem(name);
  if (problem !== null) throw new AegisError("invalid", `name: ${problem}`);
  const place = join(dir, name);
  const taken = () =>
    new AegisError("conflict", `${place} already exists, so nothing was written`, { hint: "choose another name" });
  if (await exists(place)) throw taken();
  await mkdir(dirname(place), { recursive: true });
  // The name starts with a dot, so daemons ignore the folder until it is complete.
  const draft = await mkdtemp(join(dir, ".new-"));
  try {
    const files = pluginFiles(name, kind);
    for (const { path, text } of files) await writeFile(join(draft, path), text);
    await linkAegis(draft);
    // `mkdtemp` makes the folder private; the finished plugin is readable like other project files.
    await chmod(draft, 0o755);
    await rename(draft, place);
    return { place, files: files.map(({ path, about }) => ({ path, about })) };
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (isErrno(error, "ENOTEMPTY", "EEXIST", "ENOTDIR")) throw taken();
    throw error;
  }
}

const pluginKinds = ["tool", "hook", "workflow", "full"] as const;
type PluginKind = (typeof pluginKinds)[number];

type TemplateFile = { path: string; about: string; text: string };

type Part = { module: TemplateFile; imports: string; tests: string };

/** `name` is a validated plugin name. */
function pluginFiles(name: string, kind: PluginKind): TemplateFile[] {
  const parts = partsOf(name, kind);
  return [
    {
      path: "plugin.toml",
      about: "its name, its requirements and its settings",
      text: manifest(name, kind),
    },
    ...parts.map(({ module }) => module),
    { path: "plugin.test.ts", about: "tests that need no Aegis running: node --test", text: testFile(parts) },
    { path: "tsconfig.json", about: "for the editor and tsc", text: tsconfig },
    {
      path: "package.json",
      about: "marks the files as ES modules and names the npm package with the types",
      text: packageFile(name),
    },
    { path: ".gitignore", about: "keeps the link to this Aegis out of the repository", text: "node_modules/\n" },
  ];
}

function partsOf(name: string, kind: PluginKind): Part[] {
  const word = wordOf(name);
  if (kind === "tool") return [toolPart(word)];
  if (kind === "hook") return [hookPart()];
  if (kind === "workflow") return [workflowPart(word)];
  return [hookPart(), toolPart(word), workflowPart(word), commandPart(word)];
}

/** Tools and workflows share one namespace, so their names start with the plugin's name. */
function wordOf(name: string): string {
  const word = name.replace(/[^a-z0-9]+/g, "_");
  return (/^[a-z]/.test(word) ? word : `p${word}`).slice(0, 40).replace(/_$/, "");
}

function manifest(name: string, kind: PluginKind): string {
  const [major, minor] = packageVersion().split(".");
  const settings = `
# What it can be set to, under plugins.${name} of .aegis.yaml.
[config_schema.note]
type = "string"
description = "What every agent is told"
default = "Keep answers short."
`;
  return `[plugin]
name = "${name}"
version = "0.1.0"
description = "One line about the plugin"
requires_aegis = ">=${major}.${minor}"
${kind === "hook" || kind === "full" ? settings : ""}`;
}

function toolPart(word: string): Part {
  const tool = `${word}_count`;
  const text = `import { tool, z } from "aegis";

/** Agents see the name, the description and the input, and nothing else. */
export const ${tool} = tool(
  {
    description: "Counts the words of a text. Use it instead of counting yourself.",
    input: z.object({ value: z.string().describe("the text") }),
    readOnly: true,
    permission: "read",
  },
  ({ value }, context) => {
    const words = value.split(/\\s+/).filter((word) => word !== "").length;
    context.log("info", \`\${context.session.handle} counted \${words} words\`);
    return { words };
  },
);
`;
  return {
    module: { path: "tools.ts", about: `the tool ${tool}`, text },
    imports: `import { ${tool} } from "./tools.ts";`,
    tests: `test("counts words", async () => {
  assert.deepEqual(await callTool(${tool}, { value: "one two  three" }), { words: 3 });
  await assert.rejects(callTool(${tool}, { value: 3 }), /wrong input/);
});
`,
  };
}

function hookPart(): Part {
  const text = `import { hook } from "aegis";

/** What \`prependSystem\` holds, the agent reads before the turn. \`null\` leaves the turn as it is. */
export const note = hook("pre_turn", (context, plugin) => {
  const text = String(plugin.config.note ?? "");
  return text === "" ? null : { prependSystem: text };
});
`;
  return {
    module: { path: "hooks.ts", about: "a hook before each turn", text },
    imports: 'import { note } from "./hooks.ts";',
    tests: `test("tells agents what it is set to", async () => {
  const said = await callHook(note, { userMessage: "hello" }, { config: { note: "Be kind." } });
  assert.deepEqual(said, { prependSystem: "Be kind." });
  assert.equal(await callHook(note, {}, { config: { note: "" } }), null);
});
`,
  };
}

function workflowPart(word: string): Part {
  const workflow = `${word}_review`;
  const text = `import { workflow, z } from "aegis";

/** Aegis records every call of the context: after a crash the run resumes after the last recorded one. */
export const review = workflow(
  "${workflow}",
  {
    description: "Has one agent answer and another one judge the answer",
    input: z.object({ agent: z.string().describe("who answers and judges"), task: z.string() }),
  },
  async (context, { agent, task }) => {
    const answer = await context.send(await context.spawn(agent), task);
    const verdict = await context.send(await context.spawn(agent), \`Is this good? \${answer}\`);
    context.log({ task, verdict });
    return { answer, verdict };
  },
);
`;
  return {
    module: { path: "workflows.ts", about: `the workflow ${workflow}`, text },
    imports: 'import { review } from "./workflows.ts";',
    tests: `test("has an answer judged", async () => {
  const context = fakeWorkflowContext({ send: (_, text) => (text.startsWith("Is this good?") ? "yes" : "42") });
  const result = await runWorkflow(review, context, { agent: "dev", task: "What is 6 times 7?" });
  assert.deepEqual(result, { answer: "42", verdict: "yes" });
  assert.deepEqual(
    context.calls.map((call) => call.method),
    ["spawn", "send", "spawn", "send"],
  );
});
`,
  };
}

function commandPart(word: string): Part {
  const name = word.replaceAll("_", "-");
  const text = `import { command } from "aegis";

/** Text is shown; \`{ prompt }\` is said to the agent. */
export const explain = command(
  { name: "${name}-explain", description: "Has something explained", argumentHint: "<what>" },
  (what) => (what === "" ? "What should be explained?" : { prompt: \`Explain \${what} in three sentences.\` }),
);
`;
  return {
    module: { path: "commands.ts", about: `the command /${name}-explain`, text },
    imports: 'import { explain } from "./commands.ts";',
    tests: `test("has something explained", async () => {
  assert.deepEqual(await callCommand(explain, "hooks"), { prompt: "Explain hooks in three sentences." });
  assert.equal(await callCommand(explain), "What should be explained?");
});
`,
  };
}

function testFile(parts: readonly Part[]): string {
  const tests = parts.map((part) => part.tests).join("\n");
  const helpers = ["callCommand", "callHook", "callTool", "fakeWorkflowContext", "runWorkflow"];
  const used = helpers.filter((helper) => tests.includes(`${helper}(`));
  const imports = [
    'import assert from "node:assert/strict";',
    'import { test } from "node:test";',
    `import { ${used.join(", ")} } from "aegis/testing";`,
    ...parts
      .map((part) => part.imports)
      .sort((a, b) => a.slice(a.indexOf("./")).localeCompare(b.slice(b.indexOf("./")))),
  ];
  return `${imports.join("\n")}\n\n${tests}`;
}

const tsconfig = `{
  "compilerOptions": {
    "target": "ESNext",
    "lib": ["ESNext", "DOM"],
    "module": "NodeNext",
    "strict": true,
    "noEmit": true,
    "allowImportingTsExtensions": true,
    "erasableSyntaxOnly": true,
    "verbatimModuleSyntax": true,
    "skipLibCheck": true,
    // With @types/node installed: ["node"].
    "types": ["aegis/node-test"]
  },
  "include": ["**/*.ts"]
}
`;

function packageFile(name: string): string {
  const devDependencies = { aegis: `npm:aegis-agents@^${packageVersion()}` };
  return `${JSON.stringify({ name, private: true, type: "module", devDependencies }, null, 2)}\n`;
}
