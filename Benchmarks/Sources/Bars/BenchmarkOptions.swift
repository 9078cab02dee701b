/// The settings from the arguments of a script. Each program names its numbers and its parts, and they are parsed here.
package protocol BenchmarkOptions {
  init()
  /// The numbers, by the arguments that set them.
  static var numbers: [String: WritableKeyPath<Self, Int>] { get }
  /// The names that `--only` accepts.
  static var parts: [String] { get }
  /// The one part to run, or `nil` for all parts that run by default.
  var only: String? { get set }
  /// Reduces the numbers for `--quick`.
  mutating func quicken()
  /// Parses an argument of the program's own, with the value behind it if it has one. Returns false for another
  /// argument.
  mutating func take(_ argument: String, _ value: () throws -> String) throws -> Bool
}

extension BenchmarkOptions {
  package init(_ arguments: some Sequence<String>) throws {
    self.init()
    var rest = arguments.makeIterator()
    while let argument = rest.next() {
      let value: () throws -> String = {
        guard let value = rest.next() else { throw BenchmarkError("\(argument) needs a value") }
        return value
      }
      if let number = Self.numbers[argument] {
        self[keyPath: number] = try Self.number(value(), argument)
      } else if argument == "--quick" {
        quicken()
      } else if argument == "--only" {
        let part = try value()
        guard Self.parts.contains(part) else { throw BenchmarkError("there is no part \(part)") }
        only = part
      } else if try !take(argument, value) {
        throw BenchmarkError("unknown argument \(argument)")
      }
    }
  }

  package mutating func take(_ argument: String, _ value: () throws -> String) throws -> Bool { false }

  /// - Parameter isOffered: true if the part runs by default.
  package func has(_ part: String, isOffered: Bool = true) -> Bool { only.map { $0 == part } ?? isOffered }

  private static func number(_ text: String, _ argument: String) throws -> Int {
    guard let number = Int(text), number > 0 else {
      throw BenchmarkError("\(argument) needs a positive number")
    }
    return number
  }
}
