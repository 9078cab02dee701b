public import Foundation

/// A type whose bytes can be read as one buffer: arrays, `Data`, strings.
public protocol ContiguousBytesSource {
  /// Calls `body` with the bytes. The pointer is valid only during the call. Copies nothing, except for a string that
  /// isn't stored as UTF-8 (one bridged from Objective-C).
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
