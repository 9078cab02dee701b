import ArgumentParser
import BothyStore

/// The option of every command for the format of its results.
struct OutputOptions: ParsableArguments {
  @Flag(name: .long, help: "Print JSON on standard output instead of text.")
  var json = false

  /// Prints one result: a JSON document on one line, or text.
  func print(text: () throws -> String, json write: (inout JSONWriter) throws -> Void) throws {
    guard json else { return try StandardStreams.show(text()) }
    var writer = JSONWriter()
    try writer.object(write)
    try StandardStreams.write(writer.bytes + [UInt8(ascii: "\n")])
  }
}
