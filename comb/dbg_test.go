package comb
import ("testing";"os";"bufio";"strconv";"time";"fmt";"encoding/json")
func TestDbg(t *testing.T){
 f:=os.Getenv("SER"); if f=="" {t.Skip()}
 h,_:=os.Open(f+".txt"); sc:=bufio.NewScanner(h)
 var tr struct{T0,T1,Res float64}; b,_:=os.ReadFile(f+".json"); json.Unmarshal(b,&tr)
 bin:=time.Second; if tr.Res<1 {bin=FineBin}
 s:=NewSeries(bin)
 for sc.Scan(){ v,_:=strconv.ParseFloat(sc.Text(),64); s.Add(int64(v*1e6+0.5)*1000,1)}
 d:=newDetector(s,Options{From:time.Unix(int64(tr.T0),0),To:time.Unix(int64(tr.T1),0),Resolution:time.Duration(tr.Res*1e9)})
 lv:=levels(d.base)
 for r:=0;r<3;r++{
 for i,c:=range d.search(lv){ if i>=12 {break}; 
  p:=fold(d.base,c.lines(),c.seconds(),c.w)
  ng:=0; for _,l:=range c.links { if l.gap==restart {ng++}}
  v:=d.verify(c)
  pp:=p.near(40*c.w); sh,ok:=pp.measure(c.seconds(),c.w)
  fmt.Printf("round %d w=%g P=%.3f n=%d restarts=%d lines=%d list=%d logB=%.2f div=%d ok=%v accepted=%v base=%.2f width=%.2f",r,c.w,c.seconds(),len(c.links),ng,len(c.lines()),len(c.bs),c.logB,p.divisor(c.seconds(),c.w),ok,v!=nil,sh.base,sh.hi-sh.lo)
  if v!=nil {fmt.Printf(" -> P=%.3f seen=%d H=%.1f sig=%.2f err=%.4f",v.fit.b,v.seen,v.height,v.fit.sigma,v.fit.err)}
  fmt.Println()
 }
 x:=d.strongest(lv); if x==nil {break}; d.remove(x); lv=levels(d.base)
 }
}
func TestProf(t *testing.T){
 f:=os.Getenv("SER"); if f=="" {t.Skip()}
 h,_:=os.Open(f+".txt"); sc:=bufio.NewScanner(h)
 var tr struct{T0,T1,Res float64}; b,_:=os.ReadFile(f+".json"); json.Unmarshal(b,&tr)
 bin:=time.Second; if tr.Res<1 {bin=FineBin}
 s:=NewSeries(bin)
 for sc.Scan(){ v,_:=strconv.ParseFloat(sc.Text(),64); s.Add(int64(v*1e6+0.5)*1000,1)}
 d:=newDetector(s,Options{From:time.Unix(int64(tr.T0),0),To:time.Unix(int64(tr.T1),0),Resolution:time.Duration(tr.Res*1e9)})
 lv:=levels(d.base)
 var c chain; for _,c=range d.search(lv) { if d.verify(c)!=nil {break}}
 p:=fold(d.base,c.lines(),c.seconds(),c.w)
 st:=int(2/p.bin)
 for i:=0;i+st<=len(p.raw);i+=st { fmt.Printf("PROF %.1f %.2f\n",(float64(i-p.center)*p.bin),meanOr(p.raw,i,i+st,0)/p.bin)}
}
