public import Foundation

/// A type whose bytes can be read as one buffer: arrays, `Data`, strings.
package protocol ContiguousBytesSource {
  /// Calls `body` with the bytes. The pointer is valid only during the call. Copies nothing, except for a string that
  /// isn't stored as UTF-8 (one bridged from Objective-C).
  func withContiguousBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result
}

extension [UInt8]: ContiguousBytesSource {
  package func withContiguousBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result { try withUnsafeBytes(body) }
}

extension Data: ContiguousBytesSource {
  package func withContiguousBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result { try withUnsafeBytes(body) }
}

extension String: ContiguousBytesSource {
  package func withContiguousBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    var copy = self
    return try copy.withUTF8 { try body(UnsafeRawBufferPointer($0)) }
  }
}

extension UnsafeRawBufferPointer: ContiguousBytesSource {
  package func withContiguousBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result { try body(self) }
}
