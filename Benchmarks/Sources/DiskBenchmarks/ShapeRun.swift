import Bars
import Foundation

/// The basis for the SQLite store's page size, and for the size from which bodies are stored in their own files.
///
/// It compares bare rows in pages of 4 and 8 KB with bare files, at several sizes. Files are not forced to the disk,
/// but rows are, with their log.
struct ShapeRun {
  private let options: Options
  private let folder: String

  init(_ folder: String, _ options: Options) {
    self.options = options
    self.folder = folder + "/shape"
  }

  func table() throws {
    print("rows / files, median of rounds that take turns; below 1 the row is faster")
    print("  KB   read, 4 KB pages   read, 8 KB pages   write, 4 KB pages   write, 8 KB pages")
    for kilobytes in [1, 4, 15, 32, 64, 96, 128, 192, 256] { try line(kilobytes) }
  }

  private func line(_ kilobytes: Int) throws {
    let size = kilobytes << 10
    let count = max(256, min(4096, (64 << 20) / size))
    let floors = try [4096, 8192].map {
      try Floor("\(folder)-\(kilobytes)-\($0)", pageSize: $0, size: size)
    }
    let body = Tiles.body(1, size: size)
    let batch = max(4, min(64, (1 << 20) / size))
    try floors[0].makeFolders(count)
    var spent = [0.0, 0.0, 0.0]
    for start in stride(from: 0, to: count - batch + 1, by: batch) {
      spent[2] += try seconds { try floors[0].writeFiles(start, batch, body) }
      for which in 0..<2 { spent[which] += try seconds { try floors[which].writeRows(start, batch, body) } }
    }
    let known = count / batch * batch
    var ratios: [[Double]] = [[], []]
    for round in 0..<options.rounds {
      let part = (0..<100).map { (round * 100 + $0) &* 7919 % known }
      let file = try seconds { for number in part { try floors[0].readFile(number) } }
      for which in 0..<2 {
        ratios[which].append(try seconds { for number in part { try floors[which].readRow(number) } } / file)
      }
    }
    // For writes the total time counts, because moving the log into the file is part of the cost.
    let cells =
      ratios.map { ($0.median ?? 0).short.leftPadded(19) }
      + (0..<2).map { (spent[$0] / spent[2]).short.leftPadded(20) }
    print("\(kilobytes)".leftPadded(4) + cells.joined())
  }
}
