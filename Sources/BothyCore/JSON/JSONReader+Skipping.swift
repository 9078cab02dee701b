/// Skipping values without reading them.
extension JSONReader {
  /// The greatest nesting depth of the value of one field. Every envelope around it, in messages and in files, needs
  /// fewer levels than the rest of `maximumDepth`.
  package static let maximumValueDepth = 32

  /// Reads one value of any kind and returns its bytes unchanged, at any depth. For a value that is stored or passed on
  /// and read later.
  ///
  /// - Parameter limit: The greatest depth of the value within the whole text. A greater depth throws.
  package mutating func rawValue(upTo limit: Int) throws -> [UInt8] {
    skipSpace()
    let start = offset
    try skip(upTo: limit)
    return bytes(from: start)
  }

  /// Skips one value. Uses no recursion, so that a caller may allow any depth.
  mutating func skip(upTo limit: Int) throws {
    var closers: [UInt8] = []
    repeat {
      switch try peek() {
      case .object:
        if try opens(UInt8(ascii: "{"), UInt8(ascii: "}"), &closers, limit) { continue }
      case .array:
        if try opens(UInt8(ascii: "["), UInt8(ascii: "]"), &closers, limit) { continue }
      case .string: try skipString()
      case .number: try skipNumber()
      case .bool: _ = try bool()
      case .null: _ = try nextIsNull()
      }
      try closeWhatEnds(&closers)
    } while !closers.isEmpty
  }

  /// Skips the beginning of an object or array. True if a value follows, false if the object or array is empty.
  private mutating func opens(
    _ opener: UInt8, _ closer: UInt8, _ closers: inout [UInt8], _ limit: Int
  ) throws -> Bool {
    _ = take(opener)
    guard level + closers.count < limit else { throw error("nested deeper than \(limit)") }
    skipSpace()
    if take(closer) { return false }
    closers.append(closer)
    if closer == UInt8(ascii: "}") { try skipName() }
    return true
  }

  /// Skips, after a value, the ends of the objects and arrays that it closes, up to the next value.
  private mutating func closeWhatEnds(_ closers: inout [UInt8]) throws {
    while let closer = closers.last {
      skipSpace()
      if take(UInt8(ascii: ",")) {
        if closer == UInt8(ascii: "}") { try skipName() }
        return
      }
      guard take(closer) else { throw error("',' or the end of the object or array expected") }
      closers.removeLast()
    }
  }

  private mutating func skipName() throws {
    guard try peek() == .string else { throw error("a string expected") }
    try skipString()
    skipSpace()
    guard take(UInt8(ascii: ":")) else { throw error("':' is missing after a name") }
  }
}

extension Sequence<UInt8> {
  /// True if JSON of these bytes has arrays and objects that are nested deeper than `limit`.
  package func nests(deeperThan limit: Int) -> Bool {
    var depth = 0
    var isText = false
    var isEscaped = false
    for byte in self {
      switch byte {
      case _ where isEscaped: isEscaped = false
      case UInt8(ascii: "\\") where isText: isEscaped = true
      case UInt8(ascii: "\"") where isText: isText = false
      case _ where isText: continue
      case UInt8(ascii: "\""): isText = true
      case UInt8(ascii: "["), UInt8(ascii: "{"):
        depth += 1
        if depth > limit { return true }
      case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
      default: break
      }
    }
    return false
  }
}

extension JSONValue {
  /// True if the value has arrays and objects that are nested deeper than `limit`.
  package func nests(deeperThan limit: Int) -> Bool {
    switch self {
    case .array(let elements): limit < 1 || elements.contains { $0.nests(deeperThan: limit - 1) }
    case .object(let members): limit < 1 || members.values.contains { $0.nests(deeperThan: limit - 1) }
    default: false
    }
  }
}
