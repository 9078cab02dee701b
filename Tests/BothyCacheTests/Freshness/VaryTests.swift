import BothyCache
import HTTPTypes
import Testing

@Suite("Variants", .timeLimit(.minutes(5)))
struct VaryTests {
  private func variant(_ vary: String, _ request: KeyValuePairs<String, String>) -> EntryMetadata {
    .of(200, ["Vary": vary], request: request)
  }

  @Test("A response is for requests with equal values of its Vary fields only")
  func matching() {
    let entry = variant("Foo, bar", ["foo": "1", "other": "x"])
    #expect(entry.variedOn == [VariedField(name: "bar", value: nil), VariedField(name: "foo", value: "1")])
    #expect(Vary.matches(entry.variedOn, .of(["Foo": "1"])))
    #expect(Vary.matches(entry.variedOn, .of(["FOO": "1", "Other": "y"])))
    #expect(!Vary.matches(entry.variedOn, .of(["Foo": "2"])))
    #expect(!Vary.matches(entry.variedOn, .of(["Foo": "1", "Bar": "2"])))
    #expect(!Vary.matches(entry.variedOn, .of(["Foo": "1", "Bar": ""])))
    #expect(!Vary.matches(entry.variedOn, [:]))
  }

  @Test("White space, lines and the order of languages are ignored, and letters count")
  func normalizing() {
    let listed = variant("Foo", ["Foo": "1, 2"]).variedOn
    #expect(Vary.matches(listed, .of(["Foo": "1", "foo": "2"])))
    #expect(Vary.matches(listed, .of(["Foo": " 1,2 "])))
    #expect(!Vary.matches(listed, .of(["Foo": "2, 1"])))
    let languages = variant("Accept-Language", ["Accept-Language": "en, de"]).variedOn
    #expect(Vary.matches(languages, .of(["Accept-Language": "De,eN"])))
    #expect(!Vary.matches(languages, .of(["Accept-Language": "en, fr"])))
    let weighed = variant("Accept-Language", ["Accept-Language": "en, de;q=0.5"]).variedOn
    #expect(!Vary.matches(weighed, .of(["Accept-Language": "de;q=0.5, en"])))
    let name = variant("Foo", ["Foo": "a"]).variedOn
    #expect(!Vary.matches(name, .of(["Foo": "A"])))
  }

  @Test("A response in the language that a request prefers to all others answers it")
  func preferredLanguage() {
    let stored = variant("Accept-Language", ["Accept-Language": "en, de"]).variedOn
    func matches(_ request: String, _ language: String?) -> Bool {
      Vary.matches(stored, .of(["Accept-Language": request]), language: language)
    }
    #expect(matches("fr;q=0.5, de;q=1.0", "de"))
    #expect(matches("DE, fr; q=0.9", "de"))
    #expect(matches("de", "De"))
    #expect(!matches("fr, de;q=0.5", "de"))
    #expect(!matches("de, fr", "de"))
    #expect(!matches("de-AT, fr;q=0.5", "de"))
    #expect(!matches("de;q=0", "de"))
    #expect(!matches("de;q=x", "de"))
    #expect(!matches("de", "de, fr"))
    #expect(!matches("de", nil))
    let both = variant("Accept-Language, Foo", ["Accept-Language": "en, de", "Foo": "1"]).variedOn
    #expect(!Vary.matches(both, .of(["Accept-Language": "de", "Foo": "2"]), language: "de"))
  }

  @Test("The transfer coding creates no variants if the transport undoes it")
  func codings() {
    let fields = HTTPFields.of(["Vary": "Accept-Encoding, Accept"])
    let request = HTTPFields.of(["Accept-Encoding": "gzip", "Accept": "*/*"])
    #expect(Vary(fields).values(in: request).map(\.name) == ["accept"])
    #expect(Vary(fields).values(in: request, decodes: false).map(\.name) == ["accept", "accept-encoding"])
  }
}
