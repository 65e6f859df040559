import { describe, expect, it } from "vitest";
import { delegating } from "../behaviour/subagents-project.ts";
import { aegisProject } from "../helpers/aegis.ts";
import { waitUntil } from "../helpers/wait-until.ts";

type Node = { label: string; run_id: string; status: string; children: Node[] };
type Tree = { sessions: { handle: string; children: Node[] }[] };

describe("aegis tree, kill and pool", () => {
  it("draw who started whom, end a branch, and list who is kept", async () => {
    const { aegis, json } = await aegisProject(delegating);
    expect((await aegis("pool")).stdout).toContain("The pool is empty; it keeps up to 15 agents.");
    await aegis("spawn", "dev", "--handle", "calm-boole", "-m", "spawn one with spawn two with hold never");
    const tree = async (...args: string[]) => json<Tree>("tree", ...args);
    await waitUntil("both are there", async () => (await tree()).sessions[0]?.children[0]?.children.length === 1);
    const [root] = (await tree("calm-boole")).sessions;
    expect(root).toMatchObject({
      handle: "calm-boole",
      children: [{ label: "one", status: "running", children: [{ label: "two", status: "running", children: [] }] }],
    });
    const drawn = (await aegis("tree")).stdout.split("\n");
    expect(drawn[0]).toMatch(/^SESSION +STATUS +AGENT +RUN +TIME +TASK$/);
    expect(drawn[1]).toMatch(/^calm-boole \(offline\) +ready +dev /);
    expect(drawn[2]).toMatch(/^└─ one \([a-z-]+\) +running +dev +[0-9a-f]{12} /);
    expect(drawn[3]).toMatch(/^ {3}└─ two \([a-z-]+\) +running +dev +[0-9a-f]{12} +\S+ +hold never$/);
    const run = root?.children[0]?.run_id ?? "";
    expect(await aegis("kill", run)).toMatchObject({ code: 0, stdout: "ended 2 subagents\n" });
    expect(await aegis("kill", run)).toMatchObject({ code: 1, stdout: `${run} had ended before: killed\n` });
    expect((await aegis("kill", "nonsense")).code).not.toBe(0);
    await aegis("send", "calm-boole", "--wait", "use helper for this");
    expect((await aegis("pool")).stdout).toMatch(/agent-helper +\S+ +idle +1 /);
  });
});
