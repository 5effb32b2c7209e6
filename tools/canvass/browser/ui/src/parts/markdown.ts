// The Markdown of the project's pages as headings, paragraphs and code. Links keep their words only.

export interface TextBlock {
  readonly kind: "heading" | "paragraph" | "code";
  readonly text: string;
}

export function blocksOf(markdown: string): readonly TextBlock[] {
  return markdown.split(/^```.*$/m).flatMap((part, at): TextBlock[] => {
    if (at % 2 === 1) return [{ kind: "code", text: part.replace(/^\n|\n$/g, "") }];
    return part.split(/\n\s*\n|\n(?=#)|(?<=^#.*)\n/m).map((text) => text.trim()).filter(Boolean).map((text) => (
      { kind: text.startsWith("#") ? "heading" : "paragraph", text: plain(text.replace(/^#+\s*/, "")) }
    ));
  });
}

function plain(text: string): string {
  return text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/\*\*|`/g, "").replace(/\s+/g, " ");
}
