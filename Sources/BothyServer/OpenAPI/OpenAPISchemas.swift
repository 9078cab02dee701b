import BothyStore

/// The schemas of the interface, as JSON Schema 2020-12.
enum OpenAPISchemas {
  static let all: JSONValue = {
    guard let schemas = try? JSONValue(parsing: text) else { return [:] }  // a test parses it
    return schemas
  }()

  static let text = #"""
    {
    "Name":{"type":"string","minLength":1,"maxLength":512},
    "Fields":{"type":"object","description":"Field values by name; a field without a value is left out.",
      "additionalProperties":true},
    "FieldsPatch":{"type":"object","description":"A JSON merge patch (RFC 7396) of the fields.",
      "additionalProperties":true},
    "Record":{"type":"object","required":["type","id","container","version","modified"],"properties":{
      "type":{"type":"string"},"id":{"type":"string"},"container":{"type":"string"},
      "version":{"type":"string","description":"Opaque; also the entity tag."},
      "modified":{"type":"integer","description":"Milliseconds since 1970."},
      "created":{"type":"integer","description":"Milliseconds since 1970; not of records from before servers kept it."},
      "owner":{"type":"string"},"deleted":{"const":true},
      "sharing":{"$ref":"#/components/schemas/Sharing"},
      "fields":{"$ref":"#/components/schemas/Fields"}},"additionalProperties":false},
    "RecordInput":{"type":"object","required":["fields"],"properties":{
      "type":{"type":"string"},"id":{"type":"string"},
      "container":{"type":"string","maxLength":512,"description":"By default the type's name. Stays as it is once set."},
      "version":{"type":"string","description":"Not looked at."},
      "modified":{"type":"integer","minimum":-9007199254740992,"maximum":9007199254740992,"description":"Not looked at."},
      "created":{"type":"integer","minimum":-9007199254740992,"maximum":9007199254740992,"description":"Not looked at."},
      "owner":{"type":"string","description":"Not looked at."},
      "sharing":{"$ref":"#/components/schemas/Sharing","description":"Not looked at."},
      "fields":{"$ref":"#/components/schemas/Fields"}},"additionalProperties":false},
    "Sharing":{"type":"object","description":"Users by name, lists by id.","properties":{
      "principals":{"type":"array","items":{"type":"string"}},
      "lists":{"type":"array","items":{"type":"string"}}},"additionalProperties":false},
    "SharingChange":{"type":"object","description":"Whom to let in and whom to shut out.","properties":{
      "add":{"$ref":"#/components/schemas/Sharing"},"remove":{"$ref":"#/components/schemas/Sharing"}},
      "additionalProperties":false},
    "List":{"type":"object","required":["id","name","members","version"],"properties":{
      "id":{"type":"string"},"name":{"type":"string"},"version":{"type":"string"},
      "members":{"type":"array","items":{"type":"string"},"description":"Names of users."}},
      "additionalProperties":false},
    "ListInput":{"type":"object","required":["name"],"properties":{
      "id":{"type":"string","minLength":1,"maxLength":512,"description":"By default a new one."},
      "name":{"type":"string"},"version":{"type":"string","description":"Not looked at."},
      "members":{"type":"array","maxItems":10000,"uniqueItems":true,
        "items":{"type":"string","minLength":1,"maxLength":512}}},"additionalProperties":false},
    "Lists":{"type":"object","required":["lists"],"properties":{
      "lists":{"type":"array","items":{"$ref":"#/components/schemas/List"}}},"additionalProperties":false},
    "JoinedLists":{"type":"object","required":["lists"],"properties":{
      "lists":{"type":"array","items":{"type":"object","required":["id"],"properties":{
        "id":{"type":"string"},"owner":{"type":"string","description":"The user who made the list."}},
        "additionalProperties":false}}},"additionalProperties":false},
    "Scope":{"type":"object","required":["container"],"properties":{
      "container":{"type":"string","description":"Empty with children is the whole space."},
      "children":{"type":"boolean"}}},
    "Pull":{"type":"object","properties":{
      "container":{"type":"string"},"children":{"type":"boolean"},
      "cursor":{"type":["string","null"],"description":"The cursor of the last page of this scope.",
        "pattern":"^[^.]*\\.[0-9]{1,18}\\.[^.]*(\\.[0-9]{1,18})?$"}},"additionalProperties":false},
    "Operation":{"type":"object","required":["id","kind","type","record"],"properties":{
      "id":{"type":"string","minLength":1,"maxLength":32,"description":"1 to 128 bytes; fixed before the first sending."},
      "kind":{"enum":["insert","update","delete"]},
      "type":{"type":"string"},"record":{"type":"string","description":"The record's id."},
      "container":{"type":["string","null"]},
      "base":{"type":["string","null"],"description":"The version the change was made against."},
      "after":{"type":["string","null"],"description":"The operation of this request whose result it was made on, in place of base."},
      "fields":{"$ref":"#/components/schemas/Fields"},
      "cleared":{"type":"array","items":{"type":"string"}},
      "secrets":{"type":"object","additionalProperties":{"type":"string"},"description":"Values of sensitive fields; they are no part of the record."},
      "modified":{"type":["integer","null"],"minimum":-9007199254740992,"maximum":9007199254740992},
      "sharing":{"oneOf":[{"$ref":"#/components/schemas/SharingChange"},{"type":"null"}]},
      "group":{"oneOf":[{"$ref":"#/components/schemas/OperationGroup"},{"type":"null"}]}},
      "additionalProperties":false},
    "OperationGroup":{"type":"object","required":["id","size"],
      "description":"Operations applied together or not at all. They stand next to each other in one request, all with the same group.",
      "properties":{"id":{"type":"string","minLength":1},
      "size":{"type":"integer","minimum":1,"maximum":9007199254740992,"description":"How many operations the group has; of a group that came with fewer none is applied."}},
      "additionalProperties":false},
    "SyncRequest":{"type":"object","required":["device"],"properties":{
      "device":{"type":"string","minLength":1,"maxLength":128},
      "schema":{"type":"integer","minimum":-9007199254740992,"maximum":9007199254740992},
      "limit":{"type":"integer","minimum":-9007199254740992,"maximum":9007199254740992,
        "description":"The most changes in all pages; at least one is always allowed."},
      "oldestOpen":{"type":["string","null"],"description":"Outcomes before this operation's id may be forgotten."},
      "principal":{"type":["string","null"],
        "description":"Whose work this is; another's token is answered 403 wrongPrincipal."},
      "history":{"oneOf":[{"$ref":"#/components/schemas/ServerHistory"},{"type":"null"}],
        "description":"The history that the device has followed; another server or space answers 409 otherServer, operations for a history that does not go on from it 409 otherHistory."},
      "pulls":{"type":"array","maxItems":64,"items":{"$ref":"#/components/schemas/Pull"}},
      "operations":{"type":"array","items":{"$ref":"#/components/schemas/Operation"}}},
      "additionalProperties":false},
    "ServerHistory":{"type":"object","required":["server","space","epoch"],"properties":{
      "server":{"type":"string","description":"The identity of the server's database."},
      "space":{"type":"string"},"epoch":{"type":"string","description":"Another one after a restore."},
      "position":{"type":"integer","minimum":-9007199254740992,"maximum":9007199254740992,
        "description":"The highest position known of it."}}},
    "Outcome":{"type":"object","required":["id","outcome"],"properties":{
      "id":{"type":"string"},"outcome":{"enum":["applied","duplicate","conflict","rejected","waiting"]},
      "version":{"type":"string"},"modified":{"type":"integer"},
      "record":{"$ref":"#/components/schemas/Record"},
      "code":{"type":"string"},"message":{"type":"string"},
      "fields":{"type":"array","items":{"$ref":"#/components/schemas/FieldError"}},
      "on":{"type":"string","description":"The operation that it waits for: it makes what this one refers to, or is of the same group."}},"additionalProperties":false},
    "Page":{"type":"object","required":["container","cursor","changes"],"properties":{
      "container":{"type":"string"},"children":{"type":"boolean"},"cursor":{"type":"string"},
      "more":{"type":"boolean"},
      "reset":{"type":"boolean","description":"This page starts a complete snapshot of the scope."},
      "otherHistory":{"type":"boolean","description":"The cursor is of another history than the server's."},
      "changes":{"type":"array","items":{"$ref":"#/components/schemas/Record"}},
      "types":{"type":"array","items":{"type":"string"},"description":"Types of which the user sees other records than when the cursor was given out. What a device has of one that it declares is to be asked for anew."},
      "outOfScope":{"type":"array","items":{"type":"object","required":["type","id"],"properties":{
        "type":{"type":"string"},"id":{"type":"string"}}}}},"additionalProperties":false},
    "SyncResponse":{"type":"object","required":["serverTime","outcomes","pages"],"properties":{
      "serverTime":{"type":"integer"},
      "history":{"$ref":"#/components/schemas/ServerHistory"},
      "principal":{"type":"string","description":"The name that the server knows the sender by."},
      "outcomes":{"type":"array","items":{"$ref":"#/components/schemas/Outcome"}},
      "pages":{"type":"array","items":{"$ref":"#/components/schemas/Page"}},
      "wantedBlobs":{"type":"array","items":{"type":"string"},
        "description":"Blobs that the server lacks: of each the first 32 digits of the SHA-256 of 'wanted ' and its name."}},
      "additionalProperties":false},
    "Container":{"type":"object","required":["container","count","position","validator","containers"],
      "properties":{
      "container":{"type":"string"},"count":{"type":"integer","minimum":0},
      "position":{"type":"integer","minimum":0},"validator":{"type":"string"},
      "containers":{"type":"array","items":{"type":"object","required":["container","count","position"],
        "properties":{"container":{"type":"string"},"count":{"type":"integer"},"position":{"type":"integer"}},
        "additionalProperties":false}}},"additionalProperties":false},
    "Digest":{"type":"object","required":["container","count","digest"],"properties":{
      "container":{"type":"string"},"children":{"type":"boolean"},"count":{"type":"integer","minimum":0},
      "digest":{"type":"string","pattern":"^[0-9a-f]{16}$"},
      "position":{"type":"integer","minimum":0},
      "parts":{"type":"array","items":{"type":"object","required":["count","digest"],"properties":{
        "count":{"type":"integer","minimum":0},"digest":{"type":"string","pattern":"^[0-9a-f]{16}$"}},
        "additionalProperties":false}}},"additionalProperties":false},
    "History":{"type":"object","required":["changes"],"properties":{"changes":{"type":"array","items":{
      "type":"object","required":["position","kind","type","id","container","time","fields"],"properties":{
      "position":{"type":"integer"},"kind":{"enum":["insert","update","delete"]},"type":{"type":"string"},
      "id":{"type":"string"},"container":{"type":"string"},"movedFrom":{"type":"string"},
      "principal":{"type":"string"},"time":{"type":"integer"},"fields":{"type":"array","items":{"type":"string"}}},
      "additionalProperties":false}},"next":{"type":"integer"}},"additionalProperties":false},
    "FeedPage":{"type":"object","required":["epoch","after","upTo","cursor","changes"],"properties":{
      "epoch":{"type":"string","description":"The history that the positions belong to; another one after a restore."},
      "after":{"type":"integer","minimum":0},"upTo":{"type":"integer","minimum":0},"cursor":{"type":"string"},
      "more":{"type":"boolean"},
      "reset":{"type":"boolean","description":"This page begins the whole content of the space."},
      "incomplete":{"type":"boolean","description":"Deletions after the cursor are forgotten; a copy has to be read from the start."},
      "changes":{"type":"array","items":{"$ref":"#/components/schemas/FeedChange"}}},"additionalProperties":false},
    "FeedChange":{"type":"object","required":["position","kind","type","id","container","fields"],"properties":{
      "position":{"type":"integer"},"kind":{"enum":["insert","update","delete"]},"type":{"type":"string"},
      "id":{"type":"string"},"container":{"type":"string"},"movedFrom":{"type":"string"},
      "principal":{"type":"string"},
      "time":{"type":"integer","description":"Missing where the server no longer remembers the change."},
      "fields":{"type":"array","items":{"type":"string"}},
      "record":{"$ref":"#/components/schemas/Record","description":"The record as it is now, or its tombstone."}},
      "additionalProperties":false},
    "FeedSpaces":{"type":"object","required":["spaces"],"properties":{"spaces":{"type":"array","items":{
      "type":"object","required":["space","epoch","head"],"properties":{"space":{"type":"string"},
      "epoch":{"type":"string"},"head":{"type":"integer","minimum":0}},"additionalProperties":false}},
      "next":{"type":"string","description":"The name that the next page begins after."}},
      "additionalProperties":false},
    "Stamps":{"type":"object","required":["records"],"properties":{"records":{"type":"array","items":{
      "type":"object","required":["type","id","version","hash"],"properties":{"type":{"type":"string"},
      "id":{"type":"string"},"version":{"type":"string"},"hash":{"type":"string","pattern":"^[0-9a-f]{16}$"}},
      "additionalProperties":false}}},"additionalProperties":false},
    "Query":{"type":"object","description":"A query of one type's records.","required":["type"],"properties":{
      "type":{"type":"string"},"where":{"$ref":"#/components/schemas/Condition"},
      "order":{"type":"array","description":"Sort keys; ties are broken by id.","items":{"anyOf":[
        {"type":"string",
          "description":"A field, with - before it for the largest first. -_rank is the relevance for the first matches, best first."},
        {"type":"object","description":"By the natural order of texts: no case, no accents, numbers by value.",
          "required":["natural"],"properties":{"natural":{"type":"string"}},"additionalProperties":false},
        {"type":"object","description":"By the distance of a coordinate, the nearest first.","required":["nearest"],
          "properties":{"nearest":{"$ref":"#/components/schemas/Origin"}},"additionalProperties":false},
        {"type":"object","description":"The same, the farthest first.","required":["farthest"],
          "properties":{"farthest":{"$ref":"#/components/schemas/Origin"}},"additionalProperties":false}]}},
      "limit":{"type":"integer","minimum":0},"offset":{"type":"integer","minimum":0},
      "container":{"type":"string"},"children":{"type":"boolean"},
      "include":{"type":"array","items":{"type":"string"}},
      "after":{"type":"string","description":"The next of a page before, after which this one begins; the offset is ignored."}},
      "additionalProperties":false},
    "Condition":{"type":"object","description":"One of and, or (conditions), not (a condition), matches, near, inside, or field, op and value or other.",
      "properties":{"and":{"type":"array","items":{"type":"object"}},"or":{"type":"array","items":{"type":"object"}},
      "not":{"type":"object"},"matches":{"type":"string",
      "description":"Words of the full-text fields, the last one as a prefix, as is one with a * after it."},
      "in":{"type":"array","items":{"type":"string"},"description":"The fields that are searched; all full-text fields without it."},
      "atLeast":{"type":"integer","minimum":0,"description":"The least relevance of a record, by which _rank sorts."},
      "near":{"type":"object","description":"At most so many metres from a place on the great circle.",
        "required":["field","lat","lon","metres"],"properties":{"field":{"type":"string"},
        "lat":{"type":"number","minimum":-90,"maximum":90},"lon":{"type":"number","minimum":-180,"maximum":180},
        "metres":{"type":"number","minimum":0}},"additionalProperties":false},
      "inside":{"type":"object","description":"In a box, edges included; west beyond east crosses the antimeridian.",
        "required":["field","west","south","east","north"],"properties":{"field":{"type":"string"},
        "west":{"type":"number","minimum":-180,"maximum":180},"south":{"type":"number","minimum":-90,"maximum":90},
        "east":{"type":"number","minimum":-180,"maximum":180},"north":{"type":"number","minimum":-90,"maximum":90}},
        "additionalProperties":false},
      "field":{"type":"string"},
      "op":{"enum":["=","!=","<","<=",">",">=","in","contains","beginsWith","includes"]},
      "value":{},"other":{"type":"string","description":"Another field of the same kind, in place of a value."},
      "ignoringCase":{"type":"boolean"},
      "natural":{"const":true,"description":"Texts compare without case and accents, and numbers in them by value."}},"additionalProperties":false},
    "Origin":{"type":"object","description":"A coordinate field, and where its distance is measured from.",
      "required":["field","lat","lon"],"properties":{"field":{"type":"string"},
      "lat":{"type":"number","minimum":-90,"maximum":90},"lon":{"type":"number","minimum":-180,"maximum":180}},
      "additionalProperties":false},
    "Records":{"type":"object","required":["records"],"properties":{
      "records":{"type":"array","items":{"$ref":"#/components/schemas/Record"}},
      "next":{"type":"string","description":"Others follow after this cursor."},
      "more":{"type":"boolean","description":"Others follow, for which this answer had no room."}},
      "additionalProperties":false},
    "Count":{"type":"object","required":["count"],"properties":{"count":{"type":"integer","minimum":0}},
      "additionalProperties":false},
    "FieldError":{"type":"object","required":["field","code","message"],"properties":{
      "field":{"type":"string"},"code":{"type":"string"},"message":{"type":"string"},
      "type":{"type":"string","description":"The type of the record that it is about."},
      "record":{"type":"string",
        "description":"Its id: the record that has the unique value, or the missing one that the field refers to."}},
      "additionalProperties":false},
    "Problem":{"type":"object","required":["error"],"properties":{"error":{"type":"object",
      "required":["code","message","requestId"],"properties":{
      "code":{"type":"string"},"message":{"type":"string"},
      "fields":{"type":"array","items":{"$ref":"#/components/schemas/FieldError"}},
      "requestId":{"type":"string"}},"additionalProperties":false}},"additionalProperties":false},
    "Health":{"type":"object","required":["status"],"properties":{"status":{"const":"ok"}},
      "additionalProperties":false},
    "Readiness":{"type":"object","required":["status"],"properties":{"status":{"const":"ok"},
      "replicas":{"type":"array","description":"Copies of the database that answer reads, in the order of their options.",
        "items":{"type":"object","required":["used","lagSeconds"],"properties":{"used":{"type":"boolean"},
        "lagSeconds":{"type":"number","minimum":0},"problem":{"type":"string","description":"Why it is not used."}},
        "additionalProperties":false}}},"additionalProperties":false},
    "TileSources":{"type":"object","required":["sources"],"properties":{"sources":{"type":"array","items":{
      "type":"object","required":["id","name","tilejson","minzoom","maxzoom"],"properties":{
      "id":{"type":"string"},"name":{"type":"string"},"tilejson":{"type":"string","description":"The address of the TileJSON document."},
      "minzoom":{"type":"integer"},"maxzoom":{"type":"integer"},"attribution":{"type":"string"},
      "format":{"enum":["geojson","pbf","png","jpg","webp","avif"]}},"additionalProperties":false}}},"additionalProperties":false},
    "TileJSON":{"type":"object","required":["tilejson","name","tiles","minzoom","maxzoom","bounds"],"properties":{
      "tilejson":{"const":"3.0.0"},"name":{"type":"string"},"scheme":{"const":"xyz"},
      "tiles":{"type":"array","items":{"type":"string"}},"minzoom":{"type":"integer"},"maxzoom":{"type":"integer"},
      "bounds":{"type":"array","items":{"type":"number"}},"attribution":{"type":"string"},
      "description":{"type":"string"},"vector_layers":{"type":"array"}},"additionalProperties":false},
    "Bytes":{"type":"string","contentMediaType":"application/octet-stream"},
    "EventStream":{"type":"string"},
    "MetricsText":{"type":"string"},
    "OpenAPI":{"type":"object"}
    }
    """#
}
