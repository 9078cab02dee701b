import BothyCache
import HTTPTypes
import Testing

@Suite("Variants")
struct VaryTests {
  private func variant(_ vary: String, _ request: KeyValuePairs<String, String>, at time: Int64 = At.start)
    -> EntryMetadata
  {
    .of(200, ["Vary": vary], request: request, at: time)
  }

  @Test("An answer is for requests that say the same of the fields it names, and of no other")
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

  @Test("Of several variants the matching one is taken, the one confirmed last if two match")
  func selecting() {
    let variants = [
      variant("Accept", ["Accept": "image/png"]), variant("Accept", ["Accept": "image/webp"]),
      variant("Accept", ["Accept": "image/webp"], at: At.seconds(5)),
    ]
    #expect(Vary.select(variants, for: .of(["Accept": "image/png"])) == 0)
    #expect(Vary.select(variants, for: .of(["Accept": "image/webp"])) == 2)
    #expect(Vary.select(variants, for: [:]) == nil)
    #expect(Vary.select([], for: [:]) == nil)
  }

  @Test("White space, lines and the order of languages make no difference; letters do")
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

  @Test("The coding of the transfer makes no variants where the transport undoes it")
  func codings() {
    let fields = HTTPFields.of(["Vary": "Accept-Encoding, Accept"])
    let request = HTTPFields.of(["Accept-Encoding": "gzip", "Accept": "*/*"])
    #expect(Vary(fields).values(in: request).map(\.name) == ["accept"])
    #expect(Vary(fields).values(in: request, decodes: false).map(\.name) == ["accept", "accept-encoding"])
  }

  @Test("The name of a variant is the same exactly for equal variants")
  func names() {
    let fields: [[VariedField]] = [
      [], [.init(name: "a", value: nil)], [.init(name: "a", value: "")], [.init(name: "a", value: "1")],
      [.init(name: "a", value: "1"), .init(name: "b", value: nil)], [.init(name: "a", value: "1\nb")],
      [.init(name: "a", value: "1%0Ab")],
    ]
    #expect(Set(fields.map(Vary.variant)).count == fields.count)
    #expect(Vary.variant([]) == "")
  }
}
