import Foundation

/// Converts an SVG to a PNG with rsvg-convert, which is small and part of every distribution.
enum Picture {
  private static let program = "rsvg-convert"

  static func writePNG(_ svg: String, width: Int, to path: String) throws {
    guard let tool = find() else {
      throw ToolError(
        "A PNG is made by \(program), which is not installed. Install librsvg2-bin (Debian) or librsvg "
          + "(Homebrew), or let --output end in .svg.")
    }
    let process = Process()
    process.executableURL = URL(filePath: tool)
    process.arguments = ["--format", "png", "--width", "\(width)", "--output", path]
    let input = Pipe()
    process.standardInput = input
    try process.run()
    try input.fileHandleForWriting.write(contentsOf: Data(svg.utf8))
    try input.fileHandleForWriting.close()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw ToolError("\(program) could not write \(path). Check the folder, or let --output end in .svg.")
    }
  }

  private static func find() -> String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return folders.map { "\($0)/\(program)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }
}
