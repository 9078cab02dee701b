internal import Synchronization

/// The name of a source, kept once in the process and compared as a number.
public struct SourceID: Hashable, Sendable {
  private let number: UInt32

  private struct Names {
    var byNumber: [String] = []
    var numbers: [String: UInt32] = [:]
  }

  private static let names = Mutex(Names())

  /// Any text that is not empty; how it becomes a folder's name is the store's affair.
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

  /// The text that it was made of.
  public var name: String { Self.names.withLock { $0.byNumber[Int(number)] } }
}

extension SourceID: CustomStringConvertible {
  public var description: String { name }
}

extension SourceID: ExpressibleByStringLiteral {
  public init(stringLiteral value: String) { self.init(value) }
}
