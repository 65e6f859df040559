import { describe, expect, it } from "vitest";
import { forest } from "./forest.ts";

describe("a subagent", () => {
  it("is started at once, works alone and tells its parent exactly once", async () => {
    const f = await forest();
    const root = await f.root();
    const child = await f.spawn(root, { task: "count the files", label: "count" });
    expect(child).toMatchObject({ parent: root, root, depth: 1, label: "count", status: "running" });
    const turn = await f.turnOf(child.session);
    expect(turn.prompt.text).toMatch(/^> from agent:\S+ · \S+\ncount the files$/);
    expect(turn.spec.systemPrompt).toContain('started you as "count" for one task, at depth 1');
    await f.say(child.session, "there are 7");
    expect(await f.ended(child.run_id)).toMatchObject({ status: "done", result: "there are 7", announced_to: root });
    expect(f.isWorking(root)).toBe(true);
    await f.say(root, "I wait");
    const next = await f.turnOf(root);
    expect(next.prompt.text).toMatch(
      /^> from substrate · \S+\n\[Subagent Complete\] "count" \(done\)\. Result: there are 7$/,
    );
    expect(await f.announcements(root)).toHaveLength(1);
  });
});
