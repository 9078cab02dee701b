internal import Crypto
internal import Foundation

/// Encodes names and paths as file paths that are safe on every file system.
///
/// Lower-case letters, digits and `-_.,=` stay. Every other byte becomes `%` and two lower-case digits, and so does a
/// dot at the beginning of a component. A path therefore can't leave its folder. Two keys never share a path because of
/// letter case or Unicode normalisation.
///
/// The last component ends in `%` (for a tile in `%t`), and a folder never does, so `a` and `a/b` can both exist. The
/// variant follows, unless it is 0. Components that are too long end in `%+` and a hash. A path that is too deep or too
/// long as a whole becomes a hash.
package enum PathEncoding {
  private static let longestComponent = 200
  private static let longestPath = 1500
  private static let deepest = 32

  /// Returns the folder of a source, from the UTF-8 of its name.
  package static func folder(_ name: [UInt8]) -> [UInt8] {
    var output: [UInt8] = []
    for byte in name { append(byte, to: &output, componentStart: 0) }
    name.withUnsafeBufferPointer { close(component: $0[...], in: &output, from: 0) }
    return output
  }

  /// Appends the path of a key within its source's folder.
  static func append(_ name: ResourceKey.Name, to output: inout [UInt8]) {
    switch name {
    case .tile(let bits):
      let (zoom, x, y) = ResourceKey.tile(of: bits)
      append(number: zoom, to: &output)
      output.append(slash)
      append(number: x, to: &output)
      output.append(slash)
      append(number: y, to: &output)
      output.append(percent)
      output.append(UInt8(ascii: "t"))
    case .path(let path):
      path.withComposedUTF8 { append(path: $0, to: &output) }
      output.append(percent)
    }
  }

  private static func append(path: UnsafeBufferPointer<UInt8>, to output: inout [UInt8]) {
    let start = output.count
    var componentStart = start
    var inputStart = 0
    var depth = 1
    for (index, byte) in path.enumerated() {
      if byte == slash {
        close(component: path[inputStart..<index], in: &output, from: componentStart)
        output.append(slash)
        componentStart = output.count
        inputStart = index + 1
        depth += 1
      } else {
        append(byte, to: &output, componentStart: componentStart)
      }
    }
    close(component: path[inputStart...], in: &output, from: componentStart)
    if depth > deepest || output.count - start > longestPath {
      output.removeLast(output.count - start)
      output.append(contentsOf: hash(path[...]))
    }
  }

  private static func append(_ byte: UInt8, to output: inout [UInt8], componentStart: Int) {
    if isPlain[Int(byte)] && (byte != UInt8(ascii: ".") || output.count > componentStart) {
      output.append(byte)
    } else {
      output.append(percent)
      output.append(digits[Int(byte >> 4)])
      output.append(digits[Int(byte & 15)])
    }
  }

  /// Ends a component: an empty one gets a name, and a long one a shorter name.
  private static func close(
    component: Slice<UnsafeBufferPointer<UInt8>>, in output: inout [UInt8], from start: Int
  ) {
    if output.count == start {
      output.append(percent)
      output.append(UInt8(ascii: "-"))
    } else if output.count - start > longestComponent {
      output.removeLast(output.count - start - 100)
      output.append(contentsOf: hash(component))
    }
  }

  private static func hash(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> [UInt8] {
    let digest = SHA256.hash(data: Data(bytes))
    return [percent, UInt8(ascii: "+")]
      + digest.prefix(20).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
  }

  private static func append(number: UInt64, to output: inout [UInt8]) {
    let start = output.count
    var rest = number
    repeat {
      output.append(UInt8(ascii: "0") + UInt8(rest % 10))
      rest /= 10
    } while rest > 0
    output[start...].reverse()
  }

  private static let slash = UInt8(ascii: "/")
  private static let percent = UInt8(ascii: "%")
  private static let digits = Array("0123456789abcdef".utf8)
  private static let isPlain: [Bool] = (0...255).map { byte in
    "abcdefghijklmnopqrstuvwxyz0123456789-_.,=".utf8.contains(UInt8(byte))
  }
}
