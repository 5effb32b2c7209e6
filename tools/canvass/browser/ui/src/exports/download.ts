// Offers a file to the reader as a download.

export function download(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = safeName(name);
  document.body.append(link);
  link.click();
  link.remove();
  // The browser has taken the file by then.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function safeName(name: string): string {
  const clean = name.replace(/[^A-Za-z0-9_.-]+/g, "-").replace(/^[-.]+/, "");
  return clean.slice(0, 100) || "canvass-export";
}
