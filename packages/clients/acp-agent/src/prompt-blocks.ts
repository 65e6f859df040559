/** Turns the blocks of an ACP prompt into a message: a text and images. */

import { imageMaxBytes, imagesMaxBytes, imagesMaxCount, imageTypes } from "@aegis/contract/message.ts";
import type { ContentBlock } from "@agentclientprotocol/sdk/unstable";

export type PromptMessage = { text: string; attachments: { name: string; data: string }[] };

/** A prompt that cannot be sent, with the reason. */
export class PromptProblem extends Error {
  override readonly name = "PromptProblem";
}

/** Throws `PromptProblem` for a block that Aegis cannot pass to an agent. */
export function readPrompt(blocks: readonly ContentBlock[]): PromptMessage {
  const texts: string[] = [];
  const attachments: PromptMessage["attachments"] = [];
  for (const block of blocks) {
    if (block.type === "image") attachments.push(image(block));
    else texts.push(textOf(block));
  }
  checkTotal(attachments);
  const text = texts.join("").trim();
  if (text !== "") return { text, attachments };
  if (attachments.length === 0) throw new PromptProblem("the prompt is empty");
  return { text: attachments.length === 1 ? "See the attached image." : "See the attached images.", attachments };
}

function textOf(block: Exclude<ContentBlock, { type: "image" }>): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "resource_link":
      return `[${label(block.title ?? block.name)}](<${block.uri.replace(/[<>\n]/g, encodeURIComponent)}>)`;
    case "resource":
      if ("text" in block.resource) return contextBlock(block.resource);
      throw new PromptProblem(
        `the resource ${block.resource.uri} is binary; attach an image, or send a link to the file`,
      );
    case "audio":
      throw new PromptProblem("audio is not supported; send text or images");
  }
}

const label = (name: string) => name.replace(/[[\]\n]/g, " ");

/** The quotes of an attribute and the closing tag must not end the block early. */
function contextBlock({ uri, text }: { uri: string; text: string }): string {
  const safe = text.replaceAll("</context>", "<\\/context>");
  return `\n<context uri="${uri.replaceAll('"', "%22")}">\n${safe}\n</context>\n`;
}

function image({ data, mimeType, uri }: Extract<ContentBlock, { type: "image" }>): { name: string; data: string } {
  if (!imageTypes.some((type) => type === mimeType)) {
    throw new PromptProblem(`an image of type ${mimeType} is not supported; expected ${imageTypes.join(", ")}`);
  }
  if (bytesOf(data) > imageMaxBytes) throw new PromptProblem(`an image is larger than ${mebibytes(imageMaxBytes)}`);
  return { name: (uri?.split("/").pop() || "image").slice(0, 255), data };
}

function checkTotal(attachments: PromptMessage["attachments"]): void {
  if (attachments.length > imagesMaxCount) throw new PromptProblem(`a prompt has at most ${imagesMaxCount} images`);
  const total = attachments.reduce((sum, { data }) => sum + bytesOf(data), 0);
  if (total > imagesMaxBytes)
    throw new PromptProblem(`the images are larger than ${mebibytes(imagesMaxBytes)} together`);
}

const bytesOf = (base64: string) => Math.floor((base64.length * 3) / 4);
const mebibytes = (bytes: number) => `${bytes / 1024 / 1024} MiB`;
