import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, test } from "vitest";
import { DriverError } from "../../src/driver.ts";
import { createPlaybookShelf, parsePlaybook } from "../../src/scripted/playbook/playbook.ts";
import { openScripted } from "./scripted-conversation.ts";

const wrong: [title: string, yaml: string, message: RegExp][] = [
  ["broken YAML", "rules:\n  - name: [a", /^book\.yaml:2: /],
  ["no rules", "opening: hi\n", /^book\.yaml:1: rules: /],
  [
    "a value of another type",
    "rules:\n  - name: a\n    when: { contains: x }\n    steps: [{ say: x }]\n",
    /:3: rules\.when: expected string/,
  ],
  ["an unknown key", "rules:\n  - name: a\n    whne: x\n    steps: [{ say: x }]\n", /:2: rules\.when: /],
  [
    "a misspelt key",
    "rules:\n  - name: a\n    when: x\n    form: agent\n    steps: [{ say: x }]",
    /:4: .*"form" \(did you mean "from"\?\)/,
  ],
  [
    "a misspelt step",
    "rules:\n  - name: a\n    when: x\n    steps:\n      - say: x\n      - sya: y\n",
    /:6: unknown step "sya" \(did you mean "say"\?\)/,
  ],
  [
    "a misspelt option",
    "rules:\n  - name: a\n    when: x\n    steps:\n      - stream: x\n        dealy: 3\n",
    /:6: unknown key "dealy" \(did you mean "delay"\?\)/,
  ],
  [
    "two verbs",
    "rules:\n  - name: a\n    when: x\n    steps:\n      - say: x\n        think: y\n",
    /:6: unknown key "think"/,
  ],
  [
    "an unknown sender",
    "rules:\n  - name: a\n    from: robot\n    when: x\n    steps: [{ say: x }]",
    /:3: rules\.from: /,
  ],
  [
    "a broken expression",
    "rules:\n  - name: a\n    when: /(/\n    steps: [{ say: x }]",
    /:3: Invalid regular expression/,
  ],
  [
    "a place nothing fills",
    'rules:\n  - name: a\n    when: x\n    steps:\n      - { tool: grep, save: hits }\n      - say: "{hit}"',
    /:6: nothing fills \{hit\} \(did you mean "hits"\?\)/,
  ],
  [
    "a result used before it is saved",
    'rules:\n  - name: a\n    when: x\n    steps:\n      - say: "{hits}"\n      - { tool: grep, save: hits }',
    /:5: nothing fills \{hits\}/,
  ],
  [
    "an unknown view",
    'rules:\n  - name: a\n    when: x\n    steps:\n      - say: "{text.lines}"',
    /:5: no view "\.lines"/,
  ],
];

test.each(wrong)("%s is told with file and line", (_, yaml, message) => {
  expect(() => parsePlaybook(yaml, "book.yaml")).toThrow(message);
});

test("a wrong playbook keeps the conversation from starting", async () => {
  const error = await openScripted({ playbook: "rules:\n  - sya: x\n" }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(DriverError);
  expect(error).toMatchObject({ turnError: { code: "start", message: expect.stringMatching(/playbook\.yaml:2: /) } });
});

test.each([
  ["../playbook.yaml", /outside the project/],
  ["missing.yaml", /cannot read the playbook: ENOENT/],
  [7, /expected the playbook to be a path/],
])("a playbook option of %o is refused", async (playbook, message) => {
  const error = await openScripted({ agent: { options: { playbook } } }).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ turnError: { code: "start", message: expect.stringMatching(message) } });
});

test("many agents share one copy of a playbook until its file changes", async () => {
  const file = join(await tempDir(), "book.yaml");
  const shelf = createPlaybookShelf();
  await writeFile(file, "rules: [{ name: a, when: always, steps: [{ say: x }] }]");
  const first = await shelf.load(file);
  expect(await shelf.load(file)).toBe(first);
  await writeFile(file, "rules: [{ name: b, when: always, steps: [{ say: y }] }]");
  expect((await shelf.load(file)).rules).toMatchObject([{ name: "b" }]);
});
