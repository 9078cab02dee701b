extension WideHistory {
  /// The history as a test to be pasted into `WidePinnedTests`.
  var test: String {
    func list(_ items: [String]) -> String { items.map { "        \($0)," }.joined(separator: "\n") }
    return """
        \("@Test")("What holds, in a few words")
        func seed\(seed)() async throws {
          let found = try await WideRunner.problems(
            seed: \(seed),
            [
      \(list(devices.map { Self.literal("\($0)") }))
            ],
            [
      \(list(steps.map { "." + Self.literal("\($0)") }))
            ])
          #expect(found == [])
        }
      """
  }

  /// Returns Swift's printed form of a value as an expression that creates it.
  private static func literal(_ printed: String) -> String {
    printed.replacing(#/\w+\.WideHistory\.[A-Z]\w*\(/#, with: ".init(")
      .replacing(#/\w+\.WideHistory\.[A-Z]\w*\./#, with: ".")
      .replacing(#/WideHistory\.[A-Z]\w*\(|^Device\(|^Act\(/#, with: ".init(")
      .replacing(#/Optional\((\.init\([^()]*\))\)/#) { String($0.output.1) }
  }
}
