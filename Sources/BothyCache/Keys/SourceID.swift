internal import Synchronization

/// The name of a source, stored once in the process and compared as a number.
public struct SourceID: Hashable, Sendable {
  private let number: UInt32

  private struct Names {
    var byNumber: [String] = []
    var numbers: [String: UInt32] = [:]
  }

  private static let names = Mutex(Names())

  /// Creates an id from any text that isn't empty. The store turns it into a folder's name.
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
  public var description: String { name }
}

/// An id is encoded as its text, because its number differs in each process.
extension SourceID: Codable {
  public init(from decoder: any Decoder) throws {
    self.init(try decoder.singleValueContainer().decode(String.self))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(name)
  }
}

extension SourceID: ExpressibleByStringLiteral {
  public init(stringLiteral value: String) { self.init(value) }
}
