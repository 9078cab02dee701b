import Bars
import BothyGeo
import Foundation

/// The program that writes archives of tiles: `TileDriver`. Writing them has no public name, and benchmarks use those
/// alone.
struct ArchiveProgram {
  private let program: String

  init(_ options: Options) throws {
    guard let program = options.tilesDriver else {
      throw BenchmarkError("archives need --tiles-driver, which scripts/bench-disk passes")
    }
    self.program = program
  }

  /// Writes an archive of so many tiles. Throws if the program finds another number of them in the file.
  func write(
    _ count: Int, to path: String, as kind: String, named name: String,
    _ content: (Int) throws -> (tile: Tile, body: Data)
  ) throws {
    let process = Process()
    let (input, output) = (Pipe(), Pipe())
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = ["write", kind, path, name]
    process.standardInput = input
    process.standardOutput = output
    // If the program ends early, the next write throws, and the run's folder is deleted.
    signal(SIGPIPE, SIG_IGN)
    try process.run()
    let file = input.fileHandleForWriting
    var frames = Data()
    for number in 0..<count {
      let (tile, body) = try content(number)
      for field in [tile.x, tile.y, tile.zoom, body.count] {
        withUnsafeBytes(of: UInt32(field).littleEndian) { frames.append(contentsOf: $0) }
      }
      frames += body
      guard frames.count >= 1 << 20 else { continue }
      try file.write(contentsOf: frames)
      frames.removeAll(keepingCapacity: true)
    }
    try file.write(contentsOf: frames)
    try file.close()
    let answer = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0, Int(answer.dropLast()) == count else {
      throw BenchmarkError("\(path) was to get \(count) tiles, and \(program) answered: \(answer)")
    }
  }
}
