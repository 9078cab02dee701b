internal import Synchronization

/// The name of a source, stored once in the process and compared as a number.
///
/// A text literal is an id too. Names stay in memory until the process ends, so take few of them.
public struct SourceID: Hashable, Sendable {
  private let number: UInt32

  private struct Names {
    var byNumber: [String] = []
    var numbers: [String: UInt32] = [:]
  }

  private static let names = Mutex(Names())

  /// Creates an id from any text that isn't empty. The store turns it into a folder's name.
  ///
  /// Two ids of equal text are equal. Takes a short lock. The text is checked when a source is made of it.
  public init(_ name: String) {
    number = Self.names.withLock { names in
      if let known = names.numbers[name] { return known }
      let number = UInt32(names.byNumber.count)
      names.byNumber.append(name)
      names.numbers[name] = number
      return number
    }
  }

  /// A small number, for tables by source.
  package var index: Int { Int(number) }

  /// The text of the id.
  package var name: String { Self.names.withLock { $0.byNumber[Int(number)] } }
}

extension SourceID: CustomStringConvertible {
  /// The text of the id.
  public var description: String { name }
}

/// An id is encoded as its text, because its number differs in each process.
extension SourceID: Codable {
  /// Decodes an id from a single text.
  ///
  /// - Throws: `DecodingError` if the value isn't a text.
  public init(from decoder: any Decoder) throws {
    self.init(try decoder.singleValueContainer().decode(String.self))
  }

  /// Encodes the id as a single text, which other processes decode to an equal id.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(name)
  }
}

extension SourceID: ExpressibleByStringLiteral {
  /// Creates an id from a literal: `let id: SourceID = "osm"`.
  public init(stringLiteral value: String) { self.init(value) }
}
