import { newId } from "@aegis/contract/ids.ts";
import { messageMaxBytes } from "@aegis/contract/message.ts";
import { completed, said, testDriver, testRuntime } from "@aegis/test/helpers/runtime.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { type EndOfWork, tellAsker } from "../../src/work/tell-asker.ts";

async function asker() {
  async function* reply() {
    yield said("thanks");
    yield completed;
  }
  const { store, inbox, sessions } = await testRuntime(await memoryDir(), testDriver(reply));
  const { session } = await sessions.create({});
  const end: EndOfWork = {
    asker: session.id,
    sender: { kind: "substrate" },
    body: "done",
    cutNote: (bytes) => `${bytes} bytes in all`,
    request: { chain: null, hops: 0 },
  };
  return {
    session: session.id,
    sessions,
    tell: (change: Partial<EndOfWork>) =>
      store.transact((tx) => tellAsker(tx, { ...end, ...change }, { inbox, maxHops: () => 3 })),
  };
}

it("repairs what no store keeps as it is", async () => {
  const { tell } = await asker();
  expect(await tell({ body: "a half \ud83d and\0 nothing" })).toMatchObject({
    body: "a half \ufffd and\ufffd nothing",
  });
});

it("cuts what no inbox accepts, between characters, and says so", async () => {
  const { tell } = await asker();
  const body = `${"é".repeat(messageMaxBytes / 2)}é`;
  const cut = (await tell({ body }))?.body ?? "";
  expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(messageMaxBytes);
  expect(cut).toMatch(new RegExp(`^é+\n\\[cut: ${messageMaxBytes + 2} bytes in all\\]$`));
});

it("is never refused because of its hop count", async () => {
  const { tell } = await asker();
  const chain = newId("msg", 1);
  expect(await tell({ request: { chain, hops: 40 } })).toMatchObject({ chain, hops: 3 });
});

it("tells nobody who is closed or gone", async () => {
  const { tell, session, sessions } = await asker();
  expect(await tell({ asker: newId("ses", 1) })).toBeNull();
  await sessions.close(session, "gone");
  expect(await tell({})).toBeNull();
});
