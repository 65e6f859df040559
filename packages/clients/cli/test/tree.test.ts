import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { nodeCell } from "@aegis/test/helpers/cluster.ts";
import { delegating } from "@aegis/test/helpers/projects/subagents.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";

type Node = { label: string; run_id: string; status: string; children: Node[] };
type Pooled = { handle: string; state: string; tasks: number };
type Tree = {
  sessions: { handle: string; children: Node[]; pooled: Pooled[] }[];
  trees: { handle: string; closed_at: number | null; spawned: number; output_tokens: number }[];
};

describe("aegis tree, kill and pool", () => {
  it("draw who started whom, end a branch, and list who is kept", { tags: "slow" }, async () => {
    const { aegis, json } = await aegisProject(delegating);
    expect((await aegis("pool")).stdout).toContain("The pool is empty; it keeps up to 15 agents.");
    await aegis("spawn", "dev", "--handle", "calm-moore", "-m", "spawn one with spawn two with hold never");
    const tree = async (...args: string[]) => json<Tree>("tree", ...args);
    await waitUntil("both are there", async () => (await tree()).sessions[0]?.children[0]?.children.length === 1);
    const [root] = (await tree("calm-moore")).sessions;
    expect(root).toMatchObject({
      handle: "calm-moore",
      children: [{ label: "one", status: "running", children: [{ label: "two", status: "running", children: [] }] }],
    });
    const drawn = (await aegis("tree")).stdout.split("\n");
    expect(drawn[0]).toMatch(new RegExp(`^SESSION +STATUS +AGENT${nodeCell} +RUN +TIME +TASK$`));
    expect(drawn[1]).toMatch(/^calm-moore \(offline\) +ready +dev /);
    expect(drawn[2]).toMatch(new RegExp(`^└─ one \\([a-z-]+\\) +running +dev${nodeCell} +[0-9a-f]{12} `));
    expect(drawn[3]).toMatch(
      new RegExp(`^ {3}└─ two \\([a-z-]+\\) +running +dev${nodeCell} +[0-9a-f]{12} +\\S+ +hold never$`),
    );
    const run = root?.children[0]?.run_id ?? "";
    expect(await aegis("kill", run)).toMatchObject({ code: 0, stdout: "ended 2 subagents\n" });
    expect(await aegis("kill", run)).toMatchObject({ code: 1, stdout: `${run} had already ended: killed\n` });
    expect((await aegis("kill", "nonsense")).code).not.toBe(0);
    await aegis("send", "calm-moore", "--wait", "use helper for this");
    expect((await aegis("pool")).stdout).toMatch(/agent-helper +\S+ +idle +1 /);
  });

  it("draw pooled agents below whom they work for, and keep the totals of a closed tree", {
    tags: "slow",
  }, async () => {
    const { aegis, json } = await aegisProject(delegating);
    const tree = async (...args: string[]) => json<Tree>("tree", ...args);
    await aegis("spawn", "dev", "--handle", "calm-moore", "-m", "use helper for hold never");
    await waitUntil("it is at work", async () => (await tree()).sessions[0]?.pooled[0]?.state === "busy");
    // It is not drawn a second time, as a session without a parent.
    expect((await tree()).sessions).toMatchObject([{ handle: "calm-moore", pooled: [{ state: "busy", tasks: 1 }] }]);
    const drawn = (await aegis("tree")).stdout.split("\n");
    expect(drawn[2]).toMatch(/^└─ [a-z-]+ \(pooled\) +busy +helper .*1 task$/);
    await aegis("interrupt", "calm-moore");
    await waitUntil("it is free", async () => (await tree()).sessions[0]?.pooled[0]?.state === "idle");
    await aegis("send", "calm-moore", "--wait", "spawn one with hello");
    await aegis("close", "calm-moore");
    const closed = await tree("--all");
    expect(closed.trees).toMatchObject([{ handle: "calm-moore", closed_at: expect.any(Number), spawned: 2 }]);
    const { stdout } = await aegis("tree", "--all");
    expect(stdout).toMatch(/^calm-moore {2}0 of 20 working, 2 of 200 open or started in 24 hours$/m);
  });
});
