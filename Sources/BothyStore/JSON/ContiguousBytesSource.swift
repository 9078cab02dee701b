public import Foundation

/// Anything whose bytes can be lent as one buffer: arrays, `Data`, strings.
public protocol ContiguousBytesSource {
  func withContiguousBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result
}

extension [UInt8]: ContiguousBytesSource {
  public func withContiguousBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result { try withUnsafeBytes(body) }
}

extension Data: ContiguousBytesSource {
  public func withContiguousBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result { try withUnsafeBytes(body) }
}

extension String: ContiguousBytesSource {
  public func withContiguousBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    var copy = self
    return try copy.withUTF8 { try body(UnsafeRawBufferPointer($0)) }
  }
}

extension UnsafeRawBufferPointer: ContiguousBytesSource {
  public func withContiguousBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result { try body(self) }
}
