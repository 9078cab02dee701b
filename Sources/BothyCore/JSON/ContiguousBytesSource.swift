public import Foundation

/// Anything whose bytes can be lent as one buffer: arrays, `Data`, strings.
public protocol ContiguousBytesSource {
  /// Lends the bytes to `body` for as long as it runs; the pointer means nothing afterwards. Copies nothing, but for
  /// a string that is not UTF-8 inside (one bridged from Objective-C).
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
