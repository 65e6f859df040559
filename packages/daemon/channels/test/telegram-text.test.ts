import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ChannelText } from "../src/channel.ts";
import { type Entity, telegramParts, toEntities } from "../src/telegram/text.ts";

describe("Markdown for Telegram", () => {
  it("becomes plain text with entities", () => {
    const { text, entities } = toEntities("# Head\n**bold** `code` [link](https://e.example)\n```ts\nlet a;\n```");
    expect(text).toBe("Head\nbold code link\nlet a;");
    const shown = entities.map(({ type, offset, length }) => [type, text.slice(offset, offset + length)]);
    expect(shown).toEqual([
      ["bold", "Head"],
      ["bold", "bold"],
      ["code", "code"],
      ["text_link", "link"],
      ["pre", "let a;"],
    ]);
  });

  it("is cut at a blank line, and a code block that fits stays whole", () => {
    const long = `${"a".repeat(60)}\n\n${"b".repeat(60)}`;
    expect(telegramParts(long, 100).map(({ text }) => text.trim())).toEqual(["a".repeat(60), "b".repeat(60)]);
    const code = `${"a".repeat(70)}\n\`\`\`\n${"c\n".repeat(30)}\`\`\``;
    const [, second] = telegramParts(code, 100);
    expect(second?.marks).toMatchObject([{ type: "pre", offset: 0 }]);
  });

  it("loses no character and breaks no limit, whatever the text is", () => {
    const words = [
      "**b**",
      "`c`",
      "_i_",
      "*x",
      "🎉👩‍👩‍👧",
      "[l](https://e.x)",
      "<b>",
      "```js\nx\n```",
      "\n\n",
      "\n",
      "# H",
      "```",
      "~~s~~",
      "\ud800",
    ];
    const markdown = fc.array(fc.oneof(fc.constantFrom(...words), fc.string({ unit: "binary" })), { maxLength: 200 });
    fc.assert(
      fc.property(markdown, (pieces) => {
        const source = pieces.join(" ");
        const parts = telegramParts(source, 64);
        const bare = (text: string) => text.replace(/\s/g, "");
        expect(bare(parts.map(({ text }) => text).join(""))).toBe(bare(toEntities(source).text));
        const isGood = ({ text, marks }: ChannelText) =>
          text.length <= 64 &&
          text.isWellFormed() &&
          text.trim() !== "" &&
          (marks as Entity[]).every(({ offset, length }) => length > 0 && offset + length <= text.length);
        expect(parts.filter((part) => !isGood(part))).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });
});
