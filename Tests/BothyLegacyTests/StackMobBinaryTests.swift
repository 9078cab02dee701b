import BothyLegacy
import BothyStore
import BothySync
import Foundation
import Testing

/// The text form of binary fields of the older SDK.
@Suite("Raw data of the StackMob SDK", .timeLimit(.minutes(5)))
struct StackMobBinaryTests {
  private func raw(_ name: String, _ data: Data, type: String = "image/png") -> StackMobBinary.RawData {
    StackMobBinary.RawData(contentType: type, fileName: name, data: data)
  }

  /// Promises: S-77, H-65
  @Test(
    "The SDK's text is read back unchanged, whatever the name and payload contain",
    arguments: ["cat.png", "base64.png", "Content-Type: x", "a=b; filename=c", "ünï.png"],
    [
      Data([0, 255, 10, 13]), Data("base64 Content-Type base64".utf8), Data(),
      Data(repeating: 7, count: 5000),
    ])
  func roundTrip(name: String, data: Data) throws {
    let value = raw(name, data)
    let text = try value.text()
    #expect(try StackMobBinary.RawData(parsing: text) == value)
    #expect(try StackMobBinary.data(for: text) == data)
    #expect(try StackMobBinary(text) == .raw(value))
    #expect(!StackMobBinary.containsURL(text))
    let windows = text.replacingOccurrences(of: "\n", with: "\r\n")
    #expect(try StackMobBinary.data(for: windows) == data)
  }

  /// Promises: S-77
  @Test("The text equals the SDK's form, character by character")
  func form() throws {
    let text = """
      Content-Type: text/plain
      Content-Disposition: attachment; filename=a.txt
      Content-Transfer-Encoding: base64

      aGk=
      """
    #expect(try raw("a.txt", Data("hi".utf8), type: "text/plain").text() == text)
    #expect(try StackMobBinary.data(for: text) == Data("hi".utf8))
  }

  /// Promises: S-76, H-65
  @Test("A URL is recognized despite header words, and other texts are rejected")
  func classification() throws {
    for text in [
      "https://s3.amazonaws.com/bucket/cat.png", "http://s3.example/x?response-Content-Type=image/png",
      "https://s3.example/Content-Type/base64/a.png",
    ] {
      #expect(StackMobBinary.containsURL(text))
      #expect(try StackMobBinary(text) == URL(string: text).map { .remote($0) })
      #expect(throws: BothyError.self) { try StackMobBinary.data(for: text) }
    }
    #expect(!StackMobBinary.containsURL(nil))
    #expect(try StackMobBinary(nil) == nil)
    for text in ["", "cat", "file:///etc/passwd", "https://", "ftp://a/b", "mailto:a@b.c"] {
      #expect(!StackMobBinary.containsURL(text), "\(text)")
      #expect(throws: BothyError.self) { try StackMobBinary(text) }
    }
  }

  /// Promises: S-77, H-65
  @Test("Malformed raw data throws an error that names the fault")
  func malformed() throws {
    let good = try raw("a", Data([1, 2, 3])).text()
    let cases: [(String, String)] = [
      (good.replacingOccurrences(of: "\n\n", with: "\n"), "blank line"),
      (good + "!", "not base64"), (String(good.dropLast()), "not base64"),
      (good.replacingOccurrences(of: ": base64", with: ": quoted-printable"), "transfer encoding"),
      (good.replacingOccurrences(of: "Content-Type: image/png\n", with: ""), "headers"),
      ("Content-Type: a\n" + good, "twice"), ("X-Other: a\n" + good, "headers"),
      ("nonsense\n" + good, "header"),
      (good.replacingOccurrences(of: "attachment; filename=a", with: "inline"), "disposition"),
    ]
    for (text, reason) in cases {
      let error = #expect(throws: BothyError.self) { try StackMobBinary.data(for: text) }
      #expect(error?.code == .invalidValue)
      #expect(error?.message.contains(reason) == true, "\(reason): \(error?.message ?? "")")
    }
    #expect(throws: BothyError.self) { try raw("a\nb", Data()).text() }
    #expect(throws: BothyError.self) { try raw("a", Data(), type: "").text() }
  }
}
